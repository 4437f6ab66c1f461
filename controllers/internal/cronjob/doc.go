// Package cronjob is the cronjob-controller: it creates Jobs at the times of a schedule.
// The name of a Job is derived from its scheduled time, so that a Job is never created
// twice, even if the controller crashes between the creation and the write of the status
// (https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/). The pure package
// decide decides; the controller gathers its snapshot and executes its plan. A CronJob
// waits for its next time on a timer of the cluster's clock, and costs nothing while it
// waits.
package cronjob
