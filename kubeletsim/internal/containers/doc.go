// Package containers simulates the containers of pods: their files, volumes, environment,
// processes, logs and ports, and the probes and commands that run in them. It knows a pod only
// as the Pod that its kubelet hands over; when containers start and stop is decided by package
// lifecycle and carried out by package kubeletsim, which also reads and writes the pod's object.
package containers
