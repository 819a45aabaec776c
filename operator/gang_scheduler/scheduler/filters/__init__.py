"""What makes a node refuse a pod. One policy a file, named after the upstream plugin it follows."""
