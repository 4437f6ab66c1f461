package hunt_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/hunt"
	"minikcm.dev/minikcm/minikcmtest"
)

// listener is a test that notes what fails in it.
type listener struct {
	testing.TB
	mu     sync.Mutex
	failed []string
}

func (l *listener) Errorf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = append(l.failed, fmt.Sprintf(format, args...))
}

func (l *listener) Fatalf(format string, args ...any) {
	l.Errorf(format, args...)
	runtime.Goexit()
}

func (l *listener) Fatal(args ...any) { l.Fatalf("%s", fmt.Sprint(args...)) }

// hearing calls do with a listener, and returns what failed.
func hearing(t *testing.T, do func(t testing.TB)) string {
	t.Helper()
	l := &listener{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		do(l)
	}()
	<-done
	return strings.Join(l.failed, "\n")
}

// shopping has two writes of each operator below.
var shopping = hunt.Workload{Steps: []hunt.Step{create(shop("corner", 1)), create(shop("market", 1)), remove("corner")}}

// A sound operator survives each single disturbance of a shop's life.
func TestSound(t *testing.T) {
	t.Parallel()
	hunt.Run(t, sound, hunt.Workload{Steps: []hunt.Step{create(shop("corner", 1)), remove("corner")}},
		hunt.WithTrials(singles), hunt.WithSeed(2), hunt.WithParallel(2), hunt.WithCluster(minikcmtest.WithNodes(0)))
}

// singles are about as many runs as there are single disturbances of a shop.
const singles = 45

func TestFindings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		operator hunt.Operator
		trials   int
		// replay leads to the finding, whose text has the words.
		replay string
		words  []string
	}{
		"forgetful": {forgetful, 5, "crash after create secrets default/market-*", []string{"crash atomicity", "Secret default/market-*2 exists, undisturbed it does not", `These steps of the workload are enough: "create market"`}},
		"counting":  {counting, 14, "late events of secrets from create secrets default/market-*", []string{"late events", "Secret default/market-*2 exists"}},
		"edged":     {edged, 6, "crash before delete secrets default/till-of-corner", []string{"Secret default/till-of-corner exists, undisturbed it does not", `"create corner", "delete corner"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := hearing(t, func(t testing.TB) { hunt.Run(t, test.operator, shopping, hunt.WithTrials(test.trials)) })
			for _, words := range test.words {
				if !strings.Contains(found, words) {
					t.Errorf("the findings have no %q:\n%s", words, found)
				}
			}
			replayed := hearing(t, func(t testing.TB) { hunt.Replay(t, test.operator, shopping, []string{test.replay}) })
			if !strings.Contains(replayed, test.words[0]) {
				t.Errorf("the replay of %q has no %q:\n%s", test.replay, test.words[0], replayed)
			}
		})
	}
}

// Refusals, slow answers, late writes and repeated events mislead operators that give up, create by generated names, or count, and no
// sound one.
func TestAnswers(t *testing.T) {
	t.Parallel()
	one := hunt.Workload{Steps: []hunt.Step{create(shop("corner", 1))}}
	for replay, test := range map[string]struct {
		operator hunt.Operator
		words    []string
	}{
		"quota exceeded at create secrets default/corner":                    {resigned, []string{"refused write", "Secret default/corner does not exist, undisturbed it does"}},
		"webhook denial of create secrets default/corner":                    {resigned, []string{"refused write", `ConfigMap default/corner: data.failed is "yes"`}},
		"late arrival of create secrets default/corner-*":                    {forgetful, []string{"late write", "Secret default/corner-*2 exists", "create secrets default/corner-* arrives: 201"}},
		"repeated events of configmaps from create secrets default/visit-*":  {counted, []string{"repeated events", "Secret default/visit-*2 exists"}},
		"quota exceeded at create secrets default/corner-0":                  {sound, nil},
		"webhook denial of create secrets default/corner-0":                  {sound, nil},
		"webhook outage at create secrets default/corner-0":                  {sound, nil},
		"too many requests at create secrets default/corner-0":               {sound, nil},
		"slow answer of create secrets default/corner-0":                     {sound, nil},
		"late arrival of create secrets default/corner-0":                    {sound, nil},
		"late arrival of update configmaps default/corner":                   {sound, nil},
		"repeated events of configmaps from create secrets default/corner-0": {sound, nil},
		"repeated events of secrets from update configmaps default/corner":   {sound, nil},
	} {
		t.Run(replay, func(t *testing.T) {
			t.Parallel()
			found := hearing(t, func(t testing.TB) { hunt.Replay(t, test.operator, one, []string{replay}) })
			if test.words == nil && found != "" {
				t.Error(found)
			}
			for _, words := range test.words {
				if !strings.Contains(found, words) {
					t.Errorf("the finding has no %q:\n%s", words, found)
				}
			}
		})
	}
}

// What an operator does wrong on its way is found, and not found in the undisturbed run.
func TestConduct(t *testing.T) {
	t.Parallel()
	notes := shop("notes", 0)
	notes.Labels["kind"] = "notes"
	recreate := func(ctx context.Context, c *minikcmtest.Cluster) error {
		_, err := c.Client().CoreV1().ConfigMaps("default").Create(ctx, notes, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}
	annotated := hunt.Step{Name: "annotate corner", Do: func(ctx context.Context, c *minikcmtest.Cluster) error {
		_, err := c.Client().CoreV1().ConfigMaps("default").Patch(ctx, "corner", types.MergePatchType, []byte(`{"metadata":{"annotations":{"seen":"yes"}}}`), metav1.PatchOptions{})
		return err
	}}
	for name, test := range map[string]struct {
		operator hunt.Operator
		steps    []hunt.Step
		replay   string
		words    []string
	}{
		"sweeping": {
			sweeping,
			[]hunt.Step{create(notes), create(shop("corner", 1)), {Name: "create notes again", Do: recreate}},
			"server error at create secrets default/till-of-corner",
			[]string{"foreign object", "it deletes ConfigMap default/notes, which kubernetes-admin has created, and which it leaves alone undisturbed"},
		},
		"stubborn": {
			stubborn,
			[]hunt.Step{create(shop("corner", 1)), annotated},
			"crash before create secrets default/corner",
			[]string{"Secret default/corner does not exist", "its update secrets default/corner fails for ever, with 404"},
		},
		"trusting": {
			trusting,
			[]hunt.Step{create(shop("corner", 1))},
			"crash after create secrets default/corner",
			[]string{"panic\n", "its controller configmap panics when it reconciles default/corner: runtime error: index out of range [0] with length 0"},
		},
		"brooding": {
			brooding,
			[]hunt.Step{create(shop("corner", 1))},
			"crash before create secrets default/corner",
			[]string{"Secret default/corner does not exist", `its controller configmap fails for ever to reconcile default/corner: Secret "corner" not found`},
		},
		"swinging": {
			swinging,
			[]hunt.Step{create(shop("corner", 1))},
			"crash after create secrets default/till",
			[]string{"never at rest", "update Secret default/till: metadata.labels[flickers] from", "to not set\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := hearing(t, func(t testing.TB) {
				hunt.Replay(t, test.operator, hunt.Workload{Steps: test.steps}, []string{test.replay})
			})
			for _, words := range test.words {
				if !strings.Contains(found, words) {
					t.Errorf("the finding has no %q:\n%s", words, found)
				}
			}
		})
	}
}

// A shop that is deleted and created again gets its till, unless the operator takes the old one, which the garbage collector deletes.
// What a user changes, and changes back, makes no difference.
func TestActs(t *testing.T) {
	t.Parallel()
	one := hunt.Workload{Steps: []hunt.Step{create(shop("corner", 1))}}
	const recreated = "recreation of configmaps default/corner from create secrets default/corner"
	if found := hearing(t, func(t testing.TB) { hunt.Replay(t, unowning, one, []string{recreated}) }); !strings.Contains(found, "Secret default/corner does not exist, undisturbed it does") {
		t.Errorf("the till of the shop that was created again: %s", found)
	}
	for _, act := range []string{
		"recreation of configmaps default/corner from create secrets default/corner-0", "recreation of configmaps default/corner from update configmaps default/corner",
		"edit of configmaps default/corner: metadata.labels=null for thirty seconds, from create secrets default/corner-0",
		"edit of secrets default/corner-0: metadata.ownerReferences=null for thirty seconds, from update configmaps default/corner",
	} {
		hunt.Replay(t, sound, one, []string{act})
	}
	if found := hearing(t, func(t testing.TB) {
		hunt.Replay(t, sound, one, []string{"recreation of pods default/none from create secrets default/corner-0"})
	}); !strings.Contains(found, "its object does not exist") {
		t.Errorf("an object that does not exist is created again: %q", found)
	}
}

// Pods that go, and a Deployment that a user scales down, come back, and so does the operator that has seen it, unless it gives up.
func TestPods(t *testing.T) {
	t.Parallel()
	one := hunt.Workload{Steps: []hunt.Step{create(shop("corner", 2))}}
	hunt.Replay(t, hosting, one, []string{"recreation of configmaps default/corner from update configmaps default/corner (2)"}) // the new ReplicaSet has another hash
	const deleted = "deletion of the pods of deployments.apps default/corner from create deployments.apps default/corner"
	for _, act := range []string{deleted, "edit of deployments.apps default/corner: spec.replicas=0 for thirty seconds, from update configmaps default/corner"} {
		hunt.Replay(t, hosting, one, []string{act})
	}
	if found := hearing(t, func(t testing.TB) { hunt.Replay(t, shutting, one, []string{deleted}) }); !strings.Contains(found, `ConfigMap default/corner: data.closed is "yes"`) {
		t.Errorf("the pods of the shop were deleted: %q", found)
	}
}

// A node that crashes and comes back makes no difference, unless the operator takes pods that are not ready for lost. Pods on other nodes, and
// names that follow from nodes, are no findings.
func TestNodes(t *testing.T) {
	t.Parallel()
	one := hunt.Workload{Steps: []hunt.Step{create(shop("corner", 4))}}
	const lost = "node lost from create deployments.apps default/corner"
	nodes := hunt.WithCluster(minikcmtest.WithNodes(3))
	hunt.Replay(t, hosting, one, []string{lost}, nodes)
	found := hearing(t, func(t testing.TB) { hunt.Replay(t, shutting, one, []string{lost}, nodes) })
	for _, words := range []string{"hunt: nodes", `ConfigMap default/corner: data.closed is "yes"`, "is lost", "returns"} {
		if !strings.Contains(found, words) {
			t.Errorf("the finding has no %q:\n%s", words, found)
		}
	}
	bare := hearing(t, func(t testing.TB) {
		hunt.Replay(t, sound, hunt.Workload{Steps: []hunt.Step{create(shop("corner", 1))}}, []string{"node lost from create secrets default/corner-0"})
	})
	if !strings.Contains(bare, "is not possible") {
		t.Errorf("an operator without pods loses a node: %q", bare)
	}
}

// A run that writes what no undisturbed run does has all controllers: the Deployment gets its ReplicaSet.
func TestParts(t *testing.T) {
	t.Parallel()
	one := hunt.Workload{Steps: []hunt.Step{create(shop("corner", 1))}}
	found := hearing(t, func(t testing.TB) { hunt.Run(t, desperate, one, hunt.WithTrials(4)) })
	for _, words := range []string{"Deployment default/help exists, undisturbed it does not", "ReplicaSet default/help-"} {
		if !strings.Contains(found, words) {
			t.Errorf("the findings have no %q:\n%s", words, found)
		}
	}
}

// The test of a finding calls the test that found it, of which it makes one run.
func TestRepeat(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		operator hunt.Operator
		want     string
	}{
		"unrepaired": {edged, "Secret default/till-of-corner exists, undisturbed it does not"},
		"repaired":   {sound, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var failed string
			hunt.Repeat(t, func(t *testing.T) {
				failed = hearing(t, func(t testing.TB) { hunt.Run(t, test.operator, shopping, hunt.WithTests()) })
			}, "", []string{"crash before delete secrets default/till-of-corner"})
			if !strings.Contains(failed, test.want) || (test.want == "") != (failed == "") {
				t.Errorf("the test fails with %q, want %q", failed, test.want)
			}
		})
	}
}

// A view of the past misleads an operator that counts by its cache, also after a restart; it does not mislead the sound one.
func TestStaleRestart(t *testing.T) {
	t.Parallel()
	stale := []string{"stale restart with secrets as before create secrets default/market-*, after create secrets default/market-*"}
	const want = "Secret default/market-*2 exists, undisturbed it does not"
	if found := hearing(t, func(t testing.TB) { hunt.Replay(t, counting, shopping, stale) }); !strings.Contains(found, "stale view") || !strings.Contains(found, want) {
		t.Errorf("the replay has no %q:\n%s", want, found)
	}
	hunt.Replay(t, sound, shopping, []string{"stale restart with secrets as before create secrets default/market-0, after create secrets default/market-0"})
}

// Events that are missed show in the list that follows: the shop that went meanwhile is seen to be gone.
func TestMissedEvents(t *testing.T) {
	t.Parallel()
	hasty := shopping
	hasty.Settle = 5 * time.Second
	hunt.Replay(t, edged, hasty, []string{"missed events of configmaps from create secrets default/till-of-market"})
}

// Objects that are ignored make no finding.
func TestIgnoring(t *testing.T) {
	t.Parallel()
	hunt.Replay(t, edged, shopping, []string{"crash before delete secrets default/till-of-corner"},
		hunt.Ignoring(func(kind, _, name string) bool { return kind == "Secret" && name == "till-of-corner" }))
}

// What is no hunt fails the test with what to do.
func TestMistakes(t *testing.T) {
	t.Parallel()
	idle := hunt.Operator{Start: func(testing.TB, *minikcmtest.Cluster) func() error { return func() error { return nil } }}
	broken := hunt.Operator{Start: func(t testing.TB, _ *minikcmtest.Cluster) func() error {
		t.Fatal("no kind is registered for the type Shop")
		return nil
	}}
	panics := hunt.Operator{Start: func(testing.TB, *minikcmtest.Cluster) func() error { panic(errors.New("no configuration")) }}
	for name, test := range map[string]struct {
		operator hunt.Operator
		workload hunt.Workload
		replay   string
		want     string
	}{
		"no Start":            {hunt.Operator{}, shopping, "", "the operator has no Start"},
		"no steps":            {idle, hunt.Workload{}, "", "the workload has no steps"},
		"no writes":           {idle, shopping, "", "made no write in the undisturbed run"},
		"does not start":      {broken, shopping, "", "no kind is registered for the type Shop"},
		"panics":              {panics, shopping, "", "panic: no configuration"},
		"no disturbance":      {idle, shopping, "crash", `reading the disturbance "crash"`},
		"write does not come": {edged, shopping, "crash before delete pods default/other", "does not occur"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failed := hearing(t, func(t testing.TB) {
				if test.replay != "" {
					hunt.Replay(t, test.operator, test.workload, []string{test.replay})
					return
				}
				hunt.Run(t, test.operator, test.workload)
			})
			if !strings.Contains(failed, test.want) {
				t.Errorf("the test fails with %q, want %q", failed, test.want)
			}
		})
	}
}

// A scenario's file is a workload: its steps are left out by shrinking, and its invariants are looked at.
func TestScenarioFile(t *testing.T) {
	t.Parallel()
	shops := hunt.ScenarioFile(t, "testdata/shops.yaml")
	t.Run("sound", func(t *testing.T) {
		t.Parallel()
		hunt.Run(t, sound, shops, hunt.WithTrials(8))
		// The operator's informer lists again at the moment in which a shop is deleted.
		hunt.Replay(t, sound, shops, []string{"missed events of configmaps from create secrets default/market-0"})
	})
	t.Run("edged", func(t *testing.T) {
		t.Parallel()
		found := hearing(t, func(t testing.TB) { hunt.Run(t, edged, shops, hunt.WithTrials(6)) })
		for _, words := range []string{"Secret default/till-of-corner exists, undisturbed it does not", `These steps of the workload are enough: "create configmap/corner", "sleep 30s", "delete configmap/corner"`} {
			if !strings.Contains(found, words) {
				t.Errorf("the findings have no %q:\n%s", words, found)
			}
		}
	})
	t.Run("counting", func(t *testing.T) {
		t.Parallel()
		const words = `invariant "no more than two tills"`
		if found := hearing(t, func(t testing.TB) {
			hunt.Replay(t, counting, shops, []string{"late events of secrets from create secrets default/market-*"})
		}); !strings.Contains(found, words) {
			t.Errorf("the finding has no %q:\n%s", words, found)
		}
	})
}
