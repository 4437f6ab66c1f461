// Package ttlafterfinished is the ttl-after-finished-controller: it deletes Jobs
// some time after they have finished, with their pods, and never before
// (https://kubernetes.io/docs/concepts/workloads/controllers/ttlafterfinished/).
// Before it deletes it reads the Job anew, because somebody may have given it more
// time, and deletes only the version that it has read.
package ttlafterfinished
