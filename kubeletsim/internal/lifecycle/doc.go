// Package lifecycle decides what happens to one pod on a simulated node. Step takes the pod,
// the State of its simulated runtime, the time and what has occurred since the last step;
// it returns the next State, the events to report, and the time of the next step. PodStatus
// derives the status that the kubelet writes from the State, and Adopt derives a State from
// a status that an earlier process wrote.
//
// The package is pure: no client, context, logger, lock or clock. Equal inputs yield equal
// outputs, and no input is changed. Package kubeletsim calls it and talks to the API.
//
//minikcm:pure
package lifecycle
