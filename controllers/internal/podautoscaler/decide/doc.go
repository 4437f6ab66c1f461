// Package decide calculates the next size of an autoscaler's target from the readings of its
// metrics, within the autoscaler's bounds, rates and stabilization windows, and the status and
// events. It depends on its arguments alone and does not change them.
//
//minikcm:pure
package decide
