"""From a training job, a file or an sbatch script to ordinary objects that run without us.

Open `training_job` first. `objects` makes the objects of a job, and `creation` writes them, so that
a client that is killed leaves nothing that runs or stays.
"""
