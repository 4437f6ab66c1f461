package kubeletsim

import (
	"sync"
	"sync/atomic"

	"minikcm.dev/minikcm/internal/kwok"
	"minikcm.dev/minikcm/kubeletsim/internal/containers"
	"minikcm.dev/minikcm/kubeletsim/internal/fabric"
	"minikcm.dev/minikcm/kubeletsim/internal/images"
)

// meters know what containers use.
type meters struct {
	*common
	// rules are the usages, and metrics the Metrics that kwok's objects declare.
	rules   atomic.Pointer[ruleSet]
	metrics atomic.Pointer[kwok.Metrics]
	// cpuMeters count the CPU that containers use.
	cpuMeters cpuMeters
}

// serving answers requests to kubelets: their own endpoints, logs, and streams to containers.
type serving struct {
	*meters
	// containers are the containers of all pods. Run waits for their goroutines.
	containers *containers.Runtime
}

// network answers connections of programs in containers and of other clients of the simulated network.
type network struct {
	*serving
	fabric *fabric.Fabric
	images *images.Profiles
	// reached are the names of the pods that traffic was sent to, by their addresses, which others may have later.
	reached sync.Map
}

// pressure looks at the resources that the pods on a node use.
type pressure struct{ *meters }

// nodeManager registers nodes and sends their heartbeats.
type nodeManager struct {
	*network
	attaching *attaching
	statics   *statics
	staging   *staging
	assigner  *assigner
	// linking lets one fault at a time decide which nodes are cut off from the API server.
	linking sync.Mutex
}

// injector breaks nodes, pods and the network.
type injector struct {
	*nodeManager
	// pulls are the images whose pulls fail.
	pulls *images.PullErrors
}

// podWorker takes the steps of pods.
type podWorker struct {
	*common
	attaching    *attaching
	statics      *statics
	staging      *staging
	assigner     *assigner
	supplies     *supplies
	certificates *certificateWatch
	pressure     *pressure
	containers   *containers.Runtime
	// images are the profiles that ConfigMaps declare, registry knows which images exist, and pulls which pulls fail.
	images   *images.Profiles
	registry *images.Registry
	pulls    *images.PullErrors
	// observing is Options.Observe; without it, observations are empty.
	observing    atomic.Bool
	observations observations
}
