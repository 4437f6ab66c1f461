package containers

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/network/secure"
	"minikcm.dev/minikcm/kubeletsim/internal/box"
	"minikcm.dev/minikcm/kubeletsim/internal/fabric"
	"minikcm.dev/minikcm/kubeletsim/internal/images"
	"minikcm.dev/minikcm/kubeletsim/internal/memfs"
	"minikcm.dev/minikcm/kubeletsim/internal/shell"
)

// Options have the functions and objects that containers need of the kubelets. All fields but ConfigOf, Network and Ledger are required.
type Options struct {
	// Client reads what volumes and environments refer to.
	Client kubernetes.Interface
	// AsNode returns the context of the requests that the kubelet of a node makes.
	AsNode func(ctx context.Context, node string) context.Context
	// ConfigOf returns the configuration of a client with the permissions of a pod's service
	// account; nil: commands in containers do not reach the API.
	ConfigOf func(pod *corev1.Pod) *rest.Config
	// WatchVolumes calls deleted for each PersistentVolume that is deleted from now on. It is
	// called at most once.
	WatchVolumes func(deleted func(*corev1.PersistentVolume)) error
	// Images are the profiles that determine what is in an image.
	Images *images.Profiles
	// AssumesSecrets reports whether a Secret that does not exist in a namespace is assumed to, with unknown content.
	AssumesSecrets func(namespace string) bool
	// Network connects the programs in containers; nil: they reach nothing. The functions below act at the end of a path.
	Network *fabric.Fabric
	// Certificate returns the source of the certificate of a TLS server.
	Certificate func(path *reach.Path) secure.Source
	// RouterCertificate returns the certificate of a router for a host.
	RouterCertificate func(ctx context.Context, path *reach.Path, host string) (*tls.Certificate, error)
	// Serve answers a request.
	Serve func(path *reach.Path, w http.ResponseWriter, r *http.Request)
	// Socket returns the program that listens there; nil: none does.
	Socket func(path *reach.Path) *box.Socket
	// Exchange answers data that is no request of HTTP.
	Exchange func(ctx context.Context, path *reach.Path, peer netip.AddrPort, data []byte) ([]byte, error)
	Clock    clock.Clock
	// Ledger counts the processes that run; nil: they are not counted.
	Ledger *clock.Ledger
	Logger klog.Logger
}

// Runtime is the container runtime of all simulated nodes.
type Runtime struct {
	opts Options
	// share and memory bound what the commands in all containers use of this machine.
	share  *shell.Share
	memory *shell.Budget
	// space holds the files of all containers; shared are the volumes that outlive pods.
	space  *memfs.Space
	shared sharedVolumes
	// processes are the goroutines of containers and probes. Close waits for them.
	processes *inflight.Group
	// ended is closed when the kubelets end.
	ended <-chan struct{}
}

// New returns a runtime in which nothing runs.
func New(opts Options) *Runtime {
	return &Runtime{
		opts: opts, share: shell.NewShare(), memory: shell.NewBudget(memoryOfAll, nil),
		space: memfs.NewSpace(opts.Clock.Now, 0), processes: inflight.NewGroup(opts.Ledger, inflight.Action),
	}
}

// Serve sets the channel that is closed when the processes have to end that no client and no pod's
// worker waits for. It must be called before any container runs.
func (rt *Runtime) Serve(ended <-chan struct{}) { rt.ended = ended }

// Close waits for the goroutines of containers and probes. None begins afterwards.
func (rt *Runtime) Close() { rt.processes.Close() }
