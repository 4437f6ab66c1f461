// Package decide decides which Job of a CronJob is due, which Jobs to delete, and the status. It
// guarantees that each scheduled time gets at most one Job: the Job's name follows from the
// time, and a Job for a time marks the time as handled, even if the status was never written.
// It depends on its arguments alone and does not change them.
//
//minikcm:pure
package decide
