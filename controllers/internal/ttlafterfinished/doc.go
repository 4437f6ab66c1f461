// Package ttlafterfinished is the ttl-after-finished-controller: it deletes finished Jobs
// with their pods after their time to live, and never before
// (https://kubernetes.io/docs/concepts/workloads/controllers/ttlafterfinished/). Before the
// deletion it reads the Job from the API, because a user may have extended the time, and
// deletes only the version that it has read.
package ttlafterfinished
