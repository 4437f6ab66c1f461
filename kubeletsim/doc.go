// Package kubeletsim simulates the nodes of a cluster: it registers Nodes, keeps their leases
// and conditions, and takes the pods that are bound to them through the life that a kubelet
// and a container runtime would give them. It knows the API server only as a client does.
//
// Kubelets serves all nodes with one work queue and one timer heap; there is no goroutine
// for each pod or node. A worker gathers what a pod depends on, lets lifecycle.Step decide,
// and writes the result. Everything that the API shows was done by that simulation.
//
// # Parts
//
// Kubelets is put together of parts, each a type whose fields are all that it may use: nodeManager registers nodes
// and sends their heartbeats, podWorker takes the steps of pods (with statics, staging, supplies, attaching,
// certificateWatch and pressure for what some pods need), serving and network answer requests to kubelets and
// programs, meters know the usage, and injector has the faults. All share common: the queues, the alarms, and the
// tables of pods and nodes. A sync that fails returns its error to the queue, which repeats it.
//
// # What containers do
//
// No image is downloaded and no process runs. The behaviour of a container comes from the first
// of these that determines it:
//
//   - the pod's annotations (see package podspec): minikcm.dev/exit-after: 5s,
//     minikcm.dev/exit-code: "1", minikcm.dev/start-delay, minikcm.dev/ready-delay,
//     minikcm.dev/stop-delay, minikcm.dev/pull-error, minikcm.dev/pull-duration,
//     minikcm.dev/image-size. With a container's name appended, as in
//     minikcm.dev/exit-after.web, they apply to that container only; init containers need the
//     name. An invalid annotation is ignored, and a Warning event with the reason
//     InvalidSimulation reports it.
//   - its command, if that only takes time, writes and exits (see package script): sleep 5,
//     sleep infinity, true, false, echo, printf, date, seq, expr, and sh -c (or bash) with
//     these, exit N, test of strings and numbers, variables, arithmetic, if, for and while.
//     RANDOM follows from the cluster's seed.
//   - its command, if its program is a simulated one (see package box) or comes from a volume.
//     A command that uses files, pipes, functions or values that only the cluster knows is run
//     on the cluster's clock, on the files that exec sees (package containers). If it has run a
//     program of which nothing is known and passed, the next rule applies from then on (package unknown).
//   - the image, if it is Kubernetes' pause image and there is no command: it runs until it is
//     stopped.
//   - otherwise an init container takes Latencies.InitRun; a container of a pod that a Job
//     controls takes Latencies.JobRun (1s) and exits with 0, unless its restartPolicy is
//     Always; every other container runs until it is stopped.
//
// # Logs
//
// A container writes what its command would. OpenLog runs a predictable command again
// whenever its log is read, so a log costs nothing until then; a reader that follows gets
// line by line. The annotation minikcm.dev/log replaces that output, and
// minikcm.dev/log-every: 10s repeats it. A container with an unknown command, or with the
// image's own, writes nothing, so its log only says that it has started. What was assumed of an image's
// content (package unknown) is in the log, too. The present and the last run have a log of up to 10,000 lines
// each. A script that keeps changing variables is followed for two million commands.
//
// # Commands and ports
//
// OpenExec runs commands in containers, in a simulated shell on files in memory (package
// box). OpenAttach connects to a container's output, or to its shell if it has stdin.
// OpenPorts returns what listens on a pod's ports (package listeners), and
// NodeHandler the endpoints of a kubelet, with the CPU counters of containers. File systems and processes are created on first use.
//
// # Life
//
// Probes follow upstream's prober: thresholds, periods, delays and timeouts, one Unhealthy
// event for each failure, a restart for liveness and startup. Probe commands run as exec
// does; the others get the answers of what listens on the pod's port, by minikcm.dev/http and
// minikcm.dev/grpc. A probe without a declared answer succeeds, and so does an unknown command.
// A container exits with 0 when it is stopped, at once or after its stop-delay and a preStop
// hook that sleeps; after the grace period it is killed with 137. It is restarted by the
// rules of restartPolicy (the pod's and its own), first at once, then with Backoff. A rule with the
// action RestartAllContainers restarts its whole pod in place (KEP-5532).
//
// A pod waits, as on a real node, for the ConfigMaps and Secrets, and their keys, that its
// volumes and environment require, for ClusterTrustBundles (KEP-3257), for bound claims, until
// the volumes of CSI drivers are attached to its node, for the certificates that it requests
// (KEP-4317), and for resource claims that are allocated and reserved for it (KEP-4381); other volumes count as mounted. A pod that does not suit
// its node is rejected (OutOfcpu, OutOfpods, NodeAffinity, NodePorts). Changed resources are
// applied in place, or by a restart if resizePolicy requires one; a resize that does not fit
// is deferred (KEP-1287).
//
// A ConfigMap with images.LabelImage declares the behavior of an image's containers. Pulling an
// image takes no time unless minikcm.dev/pull-duration declares one. A node has the images of the containers that it started; with
// imagePullPolicy Never, an image counts as present. Container, image, machine and boot IDs
// are derived from names and UIDs. Unused images are removed when the disk of a node fills up, and
// pods that use more than their node has, or their limits of storage allow, are evicted (package
// eviction).
//
// # Faults
//
// Faults of a pod's containers: CrashContainer, OOMKillContainer, FailReadiness (until
// RestoreReadiness) and FailImagePull. Faults of a node: StopNode cuts it off and CrashNode
// takes it down (until StartNode), HangNode hangs its runtime (until UnhangNode), SlowNode,
// SkewNode and SetNodeCondition change how it behaves. AddNode and AddNodes add nodes to a
// running cluster. A Node that is deleted through the API takes its machine with it until
// StartNode.
//
// # Nodes of clients
//
// Options.ManageNodes selects which Nodes created by clients are simulated. The simulation
// keeps what such a Node states: labels, taints, addresses, system info, range of pod
// addresses, capacity and allocatable. It fills in the rest as for its own nodes, and ends
// when the Node is deleted.
//
// # Restarts of the process
//
// All state that matters is in the API. Nodes of an earlier process, Nodes of clients, and
// pods that have a status are taken over as they are, with their addresses, and containers
// that were running go on running.
package kubeletsim
