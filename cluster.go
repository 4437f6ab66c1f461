package minikcm

import (
	"context"
	"errors"
	"io"
	"sync"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/internal/assembly/identity"
	"minikcm.dev/minikcm/internal/assembly/kubeconfig"
	"minikcm.dev/minikcm/internal/assembly/parts"
	"minikcm.dev/minikcm/internal/assembly/storage"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/dump"
	"minikcm.dev/minikcm/kubeletsim"
)

// Cluster is a running cluster. Its methods may be called from several goroutines.
type Cluster struct {
	opts Options
	foundation
	parts    *parts.Parts
	server   *apiserver.Server
	socket   *socket // nil without HTTPS
	client   kubernetes.Interface
	services *services
	loaded   *dump.Summary

	group  *parts.Group
	ending *ending
}

// ending ends a cluster.
type ending struct {
	guard *storage.Guard
	once  sync.Once
	err   error

	mu    sync.Mutex
	steps []func() error
}

// add adds a step, which precedes the steps that were added before.
func (e *ending) add(step func() error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.steps = append(e.steps, step)
}

// close stops everything and returns when it has stopped.
func (e *ending) close() error {
	e.once.Do(func() {
		e.err = e.guard.Do(e.run)
		e.guard.Close()
	})
	return e.err
}

// run stops in the reverse order of start: the users of a part before the part.
func (e *ending) run() (err error) {
	for {
		e.mu.Lock()
		n := len(e.steps)
		if n == 0 {
			e.mu.Unlock()
			return err
		}
		step := e.steps[n-1]
		e.steps = e.steps[:n-1]
		e.mu.Unlock()
		err = errors.Join(err, step())
	}
}

// Done is closed when the cluster has stopped, by Close or because a part of it
// failed.
func (c *Cluster) Done() <-chan struct{} { return c.group.Done() }

// Err returns why the cluster stopped without Close, once Done is closed.
func (c *Cluster) Err() error { return c.group.Err() }

// Close stops everything and returns when it has stopped. It may be called more
// than once.
func (c *Cluster) Close() error { return c.ending.close() }

// socket serves HTTPS.
type socket struct {
	https      *apiserver.HTTPS
	server     kubeconfig.Server
	kubeconfig []byte
}

// Config returns a new configuration of an in-process client with all permissions. Its
// content type is unset, so that a client of custom types can choose one for each type;
// client-go's clients of built-in kinds then send JSON unless the caller sets protobuf.
func (c *Cluster) Config() *rest.Config { return c.server.Config(AdminUser, auth.GroupMasters) }

// ConfigFor returns the same as Config for an in-process client that acts as user in
// groups.
func (c *Cluster) ConfigFor(user string, groups ...string) *rest.Config {
	return c.server.Config(user, groups...)
}

var errNoHTTPS = errors.New("the cluster was started without HTTPS")

// HTTPSConfig returns the configuration of a client that uses the socket. It fails if the
// cluster was started with NoHTTPS.
func (c *Cluster) HTTPSConfig() (*rest.Config, error) {
	if c.socket == nil {
		return nil, errNoHTTPS
	}
	return kubeconfig.Client(c.socket.kubeconfig)
}

// Client returns an in-process client with all permissions.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

// Address returns the IP address and port of the apiserver for clients on this machine;
// empty without HTTPS.
func (c *Cluster) Address() string {
	if c.socket == nil {
		return ""
	}
	return c.socket.https.Address()
}

// Kubeconfig returns the administrator's kubeconfig; nil without HTTPS.
func (c *Cluster) Kubeconfig() []byte {
	if c.socket == nil {
		return nil
	}
	return c.socket.kubeconfig
}

// UserKubeconfig returns a kubeconfig with a client certificate for a user in groups, who may
// do what their roles allow. It fails if the cluster was started with NoHTTPS.
func (c *Cluster) UserKubeconfig(user string, groups ...string) ([]byte, error) {
	if c.socket == nil {
		return nil, errNoHTTPS
	}
	return c.socket.server.For(user, groups...)
}

// Seed returns the seed of all random choices of the cluster.
func (c *Cluster) Seed() uint64 { return c.opts.Seed }

// Kubelets returns the simulated kubelets, for faults of nodes and pods.
func (c *Cluster) Kubelets() *kubeletsim.Kubelets { return c.parts.Kubelets }

// Manager returns the manager of the cluster's controllers, which also injects their
// faults; nil before they are built.
func (c *Cluster) Manager() *Manager { return c.parts.Manager() }

// Controllers returns the status of every controller, including those that the cluster
// does not run.
func (c *Cluster) Controllers() []ControllerStatus {
	m := c.Manager()
	if m == nil {
		return nil
	}
	return m.Status()
}

// ControllerLoops returns the loops of a controller that the cluster runs; ok is false if it
// runs none of that name. A controller that is restarted gets new ones.
func (c *Cluster) ControllerLoops(name string) (loops []ControllerLoop, ok bool) {
	m := c.Manager()
	if m == nil {
		return nil, false
	}
	return m.Loops(name)
}

// Roles returns the roles that this process runs at the moment, if it shares its etcd with other
// processes: controllers, scheduler, addresses, and nodes-NN for each shard of the nodes. Without
// a shared etcd it returns nil, and the process runs everything.
func (c *Cluster) Roles() []string { return c.parts.Roles() }

// Loaded returns the result of loading Options.Storage.Objects; nil: there were none.
func (c *Cluster) Loaded() *LoadSummary { return c.loaded }

// StoreFaults returns the store that injects faults; nil without Options.Faults.Store.
func (c *Cluster) StoreFaults() *FaultyStore { return c.storage.Faults }

// APIFaults returns the faults of the API server; nil without Options.Faults.API.
func (c *Cluster) APIFaults() *APIFaults { return c.apiFaults }

// ForgetHistory compacts the store at its current revision and drops the history in the
// API server's watch caches: requests for earlier revisions get 410 Gone.
func (c *Cluster) ForgetHistory(ctx context.Context) error { return c.server.ForgetHistory(ctx) }

// RecordAccess begins to record a user's requests to the API server. With enforce, the roles
// still limit the user; otherwise the user may do everything, so that the record shows all
// permissions that it needs. The caller ends the recording. It returns a Conflict error if the
// user is being recorded.
func (c *Cluster) RecordAccess(user string, enforce bool) (*AccessRecording, error) {
	return c.server.RecordAccess(user, enforce)
}

// Identity lets a cluster replace another one without its clients noticing: it holds the
// keys that sign certificates and tokens, and the last resource version.
type Identity struct {
	keys identity.Keys
	// revision is the last revision of the store; 0 if it is unknown.
	revision int64
}

// Identity returns the cluster's identity, for Options.Security.Identity of a cluster that replaces
// it. After Close it also has the last resource version: the new cluster's are later, so watches
// that clients resume there end with 410 (Expired), and informers list again.
func (c *Cluster) Identity() *Identity {
	return &Identity{keys: c.identity.Keys, revision: c.storage.LastRevision()}
}

// Snapshot writes a snapshot of the running cluster's store in etcd's format, which
// Options.Storage.Snapshot, RestoreSnapshot and etcd's tools read.
func (c *Cluster) Snapshot(ctx context.Context, w io.Writer) error {
	c.heartbeats.LookAtAll(ctx)
	return c.storage.Snapshots.Snapshot(ctx, w)
}
