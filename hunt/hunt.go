package hunt

import (
	"context"
	"runtime"
	"testing"
	"time"

	"minikcm.dev/minikcm/minikcmtest"
)

// DefaultUser is the user of an operator's requests unless Operator.User names another one. It is the user of the managers of
// ctrltest.
const DefaultUser = "system:serviceaccount:default:operator"

// Operator is the program that is hunted.
type Operator struct {
	// CRDs are files and folders with CustomResourceDefinitions, as for Cluster.CreateCRDs.
	CRDs []string
	// Start starts the operator on a cluster, and returns when it works. stop returns when it has ended. Start is called once
	// for each life of the operator, with a t that belongs to one run, and must keep no state of an earlier life. Several runs
	// take place at the same time.
	//
	//	mgr := ctrltest.NewManager(t, cluster, ctrl.Options{Scheme: scheme})
	//	if err := (&SiteReconciler{Client: mgr.GetClient()}).SetupWithManager(mgr); err != nil {
	//		t.Fatal(err)
	//	}
	//	return ctrltest.Start(t, mgr)
	Start func(t testing.TB, cluster *minikcmtest.Cluster) (stop func() error)
	// User makes the operator's requests. The default is DefaultUser.
	User string
}

// Step is one act of the workload's user.
type Step struct {
	// Name describes the step in reports.
	Name string
	// Do acts on the cluster, with any of its clients except the operator's. It must not wait: the operator works after it.
	// If it returns an error, the run ends, and the error is a finding.
	Do func(ctx context.Context, cluster *minikcmtest.Cluster) error
	// index is the step's in its scenario.
	index int
}

// Workload lists the acts of the users of the operator.
type Workload struct {
	// Steps are done one after the other. The operator works for Settle after each of them.
	Steps []Step
	// Settle is how much of the cluster's time passes after each step. The default is one minute.
	Settle time.Duration
	// Rest is how much of the cluster's time passes at the end, beside a tenth of it in which the operator should write no more
	// than it does undisturbed. The default is ten minutes.
	Rest time.Duration
	// Always, if not nil, is called after every write to the cluster. An error is a finding.
	Always func(ctx context.Context, cluster *minikcmtest.Cluster) error
	// AtEnd, if not nil, is called at the end of a run. An error is a finding.
	AtEnd func(ctx context.Context, cluster *minikcmtest.Cluster) error
	// scenario is the file whose steps Steps are; nil if they are functions.
	scenario *scenarioFile
}

type settings struct {
	cluster  []minikcmtest.Option
	trials   int
	seed     uint64
	parallel int
	ignore   func(kind, namespace, name string) bool
	// repeats is how often a run with a finding is repeated if it is not exact.
	repeats int
	without map[Action]bool
	// tests says that regression tests are written.
	tests bool
}

// Option changes how Run and Replay work.
type Option func(*settings)

// WithCluster passes options to the clusters, which have virtual time in any case.
func WithCluster(opts ...minikcmtest.Option) Option {
	return func(s *settings) { s.cluster = append(s.cluster, opts...) }
}

// WithTrials caps the number of disturbed runs. The default is 500: each disturbance alone comes first, in the order in which it is
// likely to matter, then pairs of them by chance.
func WithTrials(n int) Option { return func(s *settings) { s.trials = n } }

// WithSeed sets the seed of the clusters and of the pairs. The default is 1.
func WithSeed(seed uint64) Option { return func(s *settings) { s.seed = seed } }

// WithParallel sets how many runs take place at the same time. The default is runtime.GOMAXPROCS(0).
func WithParallel(n int) Option { return func(s *settings) { s.parallel = max(n, 1) } }

// Ignoring leaves objects out of the comparison of end states. Events, Leases and Nodes always are.
func Ignoring(ignore func(kind, namespace, name string) bool) Option {
	return func(s *settings) { s.ignore = ignore }
}

// Without leaves out disturbances by their actions: for example QuotaExceeded, if an operator is meant to give up then.
func Without(actions ...Action) Option {
	return func(s *settings) {
		for _, action := range actions {
			s.without[action] = true
		}
	}
}

const defaultTrials = 500

func newSettings(opts []Option) settings {
	s := settings{trials: defaultTrials, seed: 1, parallel: runtime.GOMAXPROCS(0), ignore: func(string, string, string) bool { return false }, without: map[Action]bool{}}
	for _, change := range opts {
		change(&s)
	}
	return s
}

func (w *Workload) settle() time.Duration { return orDefault(w.Settle, time.Minute) }
func (w *Workload) rest() time.Duration   { return orDefault(w.Rest, 10*time.Minute) }

func orDefault(d, other time.Duration) time.Duration {
	if d <= 0 {
		return other
	}
	return d
}

// Run hunts for bugs of the operator, and fails the test with each one that it finds. It also fails the test if the operator does
// not start, or if two undisturbed runs differ: then it uses something that the seed does not determine, such as the machine's clock.
func Run(t testing.TB, operator Operator, workload Workload, opts ...Option) {
	t.Helper()
	c := calls.begin(t)
	if c.skipped() {
		return
	}
	h := newHunter(t, operator, workload, opts)
	if err := h.learn(); err != nil {
		t.Fatalf("hunt: %v", err)
	}
	if c.repetition != nil {
		h.replay(c.repetition.list)
		return
	}
	h.hunt()
	h.report(c)
}

// Replay runs the workload with disturbances as a finding of Run names them, and fails the test if the run ends as the finding
// did: it is the regression test of a repair. If a write does not occur any more, since the repair has changed the operator's
// writes, the disturbance is made at each write of the same resource. The test fails, too, if there is none, or if a disturbance does
// not read as one.
//
//	hunt.Replay(t, operator, workload, []string{"crash after create configmaps default/home-0"})
func Replay(t testing.TB, operator Operator, workload Workload, disturbances []string, opts ...Option) {
	t.Helper()
	list, err := parseDisturbances(disturbances)
	if err != nil {
		t.Fatal(err)
	}
	h := newHunter(t, operator, workload, opts)
	if err := h.learn(); err != nil {
		t.Fatalf("hunt: %v", err)
	}
	h.replay(list)
}
