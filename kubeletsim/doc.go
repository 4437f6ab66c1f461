// Package kubeletsim is the nodes of a cluster without machines: it registers
// Nodes, keeps their leases and conditions, and takes the pods that are bound to
// them through the life that a kubelet and a container runtime would give them.
// One engine with one timer heap serves all nodes; there is no goroutine a pod or
// a node. What a pod does is decided by a pure function (step) from the pod, the
// simulated runtime's state and the cluster's time; everything that the API shows
// was done by that simulation. It knows the apiserver only as a client.
//
// # What containers do
//
// No image is fetched and no process runs. What a container does is taken from the
// first of these that says something:
//
//   - the pod's annotations (see the constants): minikcm.dev/exit-after: 5s,
//     minikcm.dev/exit-code: "1", minikcm.dev/start-delay, minikcm.dev/ready-delay,
//     minikcm.dev/stop-delay, minikcm.dev/pull-error. With a container's name
//     appended, as in minikcm.dev/exit-after.web, they are for that container only;
//     init containers listen to these only. What cannot be read is ignored, and a
//     Warning event with the reason InvalidSimulation says so.
//   - its command, if that does nothing but take time, write and exit: sleep 5, sleep
//     infinity, true, false, echo, printf, date, seq, expr, and sh -c (or bash) with these,
//     exit N, test of strings and numbers, variables, arithmetic, if, for and while.
//     RANDOM follows from the cluster's seed. Variables are those of the pod's env.
//   - its command, if its program is one of those that exec knows (package box) or comes
//     from a volume: what looks at files, pipes, functions, or values that only the cluster
//     knows, is run beside the cluster's clock, on the files that exec sees (liveRun). Where
//     it starts a program that is not there, it goes on as the next line says.
//   - otherwise an init container takes Latencies.InitRun; a container of a pod that
//     a Job controls, unless its restartPolicy is Always, takes Latencies.JobRun (1s)
//     and exits with 0; every other container runs until it is stopped.
//
// # Logs
//
// What a container writes is what its command would: OpenLog runs the command again,
// beside the cluster's clock, whenever somebody reads the log, so that a log costs
// nothing while nobody does, and one that is followed goes on line by line. In place of
// that, minikcm.dev/log tells lines that every run begins with, and
// minikcm.dev/log-every: 10s writes them again and again. A container whose command is
// not understood, or is the image's own, writes nothing. There are the logs of the
// present and the last run, of each the last 10,000 lines; a script that goes on
// changing variables is followed for two million commands.
//
// # Commands and ports
//
// OpenExec runs commands in containers, in a simulated shell on files in memory (package
// box); OpenAttach connects with a container's output, or with a shell that a container
// with stdin is. OpenPorts is what listens on a pod's ports, as minikcm.dev/http tells, and
// NodeHandler what the kubelets themselves answer. A file system or a process is made when
// somebody looks, and not before.
//
// # Life
//
// Probes run as in upstream's prober: thresholds, periods, delays and timeouts, an
// Unhealthy event a failure, a restart for liveness and startup. Commands run in the
// container as those of exec do; httpGet and tcpSocket ask minikcm.dev/http, grpc asks
// minikcm.dev/grpc. What nothing is told of, and a command that is not known, succeeds.
// A container that is told to stop exits with 0 at once, or after its stop-delay and
// its preStop hook, if that is a sleep; the grace period ends what takes longer,
// with 137. A container that ended is started again by the rules of restartPolicy
// (the pod's and its own), the first time at once, then with the back-off of
// Backoff.
//
// A pod waits, as it would on a real node, for the ConfigMaps and Secrets (and keys
// of them) that its volumes and environment need; volumes of other kinds are taken
// for mounted. A pod that was bound to a node whose labels or resources do not suit
// it is rejected (OutOfcpu, OutOfpods, NodeAffinity). One whose resources are changed
// gets them at once, or by a restart where its resizePolicy says so; what the node does
// not have, the pod waits for (KEP-1287).
//
// What containers of an image do can be told once, by a ConfigMap with LabelImage. A
// port of the node that a pod asks for (hostPort) it has for itself (NodePorts).
//
// Pulling an image takes no time. A node has the images that its containers were
// started from; with imagePullPolicy Never they count as present. Container, image,
// machine and boot IDs are made from names and UIDs.
//
// # What containers use
//
// Usage works out what pods use of CPU and memory, and what custom and external metrics
// say, as a pure function of the API's objects, the time and the seed, when somebody
// asks: there is no goroutine, and nothing is kept. minikcm.dev/cpu and
// minikcm.dev/memory tell it, as loads (Load: constants, ramps, steps, waves, cycles,
// noise); minikcm.dev/load-cpu and the like at a Service, Deployment or StatefulSet are
// divided among its ready pods, so that more of them use less each; minikcm.dev/metric-NAME
// is a custom metric of the object, and a ConfigMap labelled
// minikcm.dev/external-metric=NAME a series of an external one. Of a container that
// nothing is said of, half of its requests are taken to be used. A container whose own
// memory passes its limit is killed (OOMKilled, 137). docs/simulation.md has the table.
//
// # Faults
//
// Crash, OOMKill, Unready, FailImage, StopNode, CrashNode and SetTrouble break things
// from outside; ReadyAgain and StartNode mend them; AddNode and AddNodes add nodes to a
// running cluster. A Node that is deleted through the API takes its machine with it
// until StartNode.
//
// # Nodes of clients
//
// Options.ManageNodes says which Nodes are simulated that clients make through the API. What
// such a Node states is kept: labels, taints, addresses, system info, its range of pod
// addresses, capacity and what is allocatable of that. The rest is filled in as for the
// other nodes. With its Node, its simulation ends.
//
// # Restarts of the process
//
// All state that matters is in the API: the nodes of an earlier run, those that clients
// have made, and pods that have a status are taken over as they are, with their addresses,
// and what had been running runs on.
package kubeletsim
