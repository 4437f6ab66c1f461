// Package cronjobtest builds CronJobs and their Jobs for the tests of the CronJob controller and of
// its decisions.
package cronjobtest
