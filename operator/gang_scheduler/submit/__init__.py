"""From a training job, a file or an sbatch script to ordinary objects that run without us.

Open `training_job` first. `objects` makes the objects of a job, `members` their pod templates, and
`submission` creates them so that nothing is left over if the client is killed. `gang_states`,
`log_lines` and `cancelling` are for jobs that exist.
"""
