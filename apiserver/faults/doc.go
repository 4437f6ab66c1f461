// Package faults is what an API server suffers on demand: requests that take long or
// fail, watches that end, answers from a cache that is behind, a server that is not
// there. Time comes from a clock and chance from a seed. Without a rule, requests pass
// as they are.
package faults
