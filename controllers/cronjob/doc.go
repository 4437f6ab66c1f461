// Package cronjob is the cronjob-controller: Jobs at the times of a schedule. A
// time's Job has a name that is made from the time, so that it is never started
// twice, whatever crashes between the creation and the status
// (https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/). What is
// to be done is decided by the pure function Decide; the controller gathers its
// snapshot and executes its plan. A CronJob waits for its next time on a timer of
// the cluster's clock; an idle one costs nothing else.
package cronjob
