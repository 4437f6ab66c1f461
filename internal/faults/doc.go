// Package faults injects API faults into an API server: slow or failing requests,
// dropped watches, responses from a stale cache, and a server that is down. Time comes
// from a clock and chance from a seed. Without a rule, requests are unaffected.
package faults
