// Package indexes has the completion indexes of Indexed Jobs: which index a pod has, and sets of
// indexes in the format of a Job's status, such as "1,3-5". It depends on its arguments alone.
//
//minikcm:pure
package indexes
