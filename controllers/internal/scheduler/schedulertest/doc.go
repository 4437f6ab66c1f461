// Package schedulertest builds pods and nodes for the tests of the scheduler's packages.
package schedulertest
