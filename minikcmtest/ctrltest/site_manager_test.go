package ctrltest_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/minikcmtest"
	"minikcm.dev/minikcm/minikcmtest/ctrltest"
)

func startSites(t *testing.T, c *minikcmtest.Cluster) client.Client {
	t.Helper()
	k := defineSites(t, c)
	mgr := ctrltest.NewManager(t, c, ctrl.Options{Scheme: newScheme(t)})
	if err := (&sites{}).SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	ctrltest.Start(t, mgr)
	return k
}

// Events of owned and of watched objects trigger reconciles at the same instant: no time
// passes while there is work.
func TestOwnsAndWatches(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0))
	k := startSites(t, c)
	ctx := t.Context()
	home := site("home", 5)
	if err := k.Create(ctx, home); err != nil {
		t.Fatal(err)
	}
	expect := func(theme string) {
		t.Helper()
		advance(t, c, 0)
		if err := k.Get(ctx, client.ObjectKeyFromObject(home), home); err != nil {
			t.Fatal(err)
		}
		if home.Status.Pages != 5 || home.Spec.Theme != theme {
			t.Errorf("%d pages with theme %q, want 5 with %q", home.Status.Pages, home.Spec.Theme, theme)
		}
	}
	expect("")
	if err := k.Delete(ctx, &corev1.ConfigMap{ObjectMeta: configMap("home-4").ObjectMeta}); err != nil {
		t.Fatal(err)
	}
	expect("")
	theme := configMap("theme")
	theme.Data = map[string]string{"name": "dark"}
	if err := k.Create(ctx, theme); err != nil {
		t.Fatal(err)
	}
	expect("dark")
}

// A manager also works on real and on scaled time, without a socket.
func TestOtherClocks(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*minikcm.Options){
		"real":   func(*minikcm.Options) {},
		"scaled": func(o *minikcm.Options) { o.Clock.Mode, o.Clock.Speed = "scaled", 60 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := minikcmtest.New(t, minikcmtest.WithOptions(change))
			k := startSites(t, c)
			if err := k.Create(t.Context(), site("home", 3)); err != nil {
				t.Fatal(err)
			}
			c.Eventually("the site to have its pages", func(ctx context.Context, _ kubernetes.Interface) error {
				home := &Site{}
				if err := k.Get(ctx, client.ObjectKey{Namespace: "default", Name: "home"}, home); err != nil {
					return err
				}
				if home.Status.Pages != 3 {
					return fmt.Errorf("it has %d", home.Status.Pages)
				}
				return nil
			})
		})
	}
}

// seededWrites returns the writes, as far as they follow from the seed: the name of the trust
// bundle, from which its UID follows, contains a hash of the cluster's certificate.
func seededWrites(c *minikcmtest.Cluster) []minikcm.Write {
	writes := c.Writes().Writes(nil)
	for i := range writes {
		if writes[i].Resource.Resource == "clustertrustbundles" {
			writes[i].Name, writes[i].UID = "BUNDLE", ""
		}
	}
	return writes
}

// The same seed gives the same sequence of writes, including the operator's. Another seed
// gives another sequence.
func TestSameSeedSameWrites(t *testing.T) {
	const runs = 3
	var first []string
	for i := range runs {
		writes := courseOfWrites(t, 7)
		if i == 0 {
			first = writes
			continue
		}
		if diff := cmp.Diff(first, writes); diff != "" {
			t.Fatalf("run %d differs (-first +this):\n%s", i, diff)
		}
	}
	if other := courseOfWrites(t, 8); slices.Equal(first, other) {
		t.Error("another seed gives the same course")
	}
}

func courseOfWrites(t *testing.T, seed uint64) []string {
	t.Helper()
	var writes []string
	// Each run has its own cluster, which stops at the end of the subtest.
	t.Run("run", func(t *testing.T) {
		c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithOptions(func(o *minikcm.Options) { o.Clock.Driven, o.Seed = true, seed }))
		k := startSites(t, c)
		for i := range 5 {
			if err := k.Create(t.Context(), site(fmt.Sprintf("site-%d", i), 3)); err != nil {
				t.Fatal(err)
			}
		}
		theme := configMap("theme")
		theme.Data = map[string]string{"name": "dark"}
		if err := k.Create(t.Context(), theme); err != nil {
			t.Fatal(err)
		}
		advance(t, c, time.Minute)
		for _, w := range seededWrites(c) {
			writes = append(writes, fmt.Sprintf("%d %s %s %s %s/%s %s by %s", w.Revision, w.Time.Format(time.RFC3339Nano), w.Verb, w.Resource.Resource, w.Namespace, w.Name, w.UID, w.Actor))
		}
	})
	return writes
}

// Why explains a page across the operator's reconciles, back to the Site and the user that
// created it.
func TestWhy(t *testing.T) {
	t.Parallel()
	c := newStill(t)
	k := startSites(t, c)
	if err := k.Create(t.Context(), site("home", 2)); err != nil {
		t.Fatal(err)
	}
	advance(t, c, 0)
	e, err := c.Why(t.Context(), minikcm.Query{Resource: "configmaps", Namespace: "default", Name: "home-1"})
	if err != nil {
		t.Fatal(err)
	}
	var chain []string
	for link := e.Creation; link != nil; {
		chain = append(chain, link.Name+" by "+link.Actor)
		if len(link.Because) == 0 {
			break
		}
		link = link.Because[len(link.Because)-1]
	}
	want := []string{"home-1 by " + ctrltest.DefaultUser, "home-0 by " + ctrltest.DefaultUser, "home by " + minikcm.AdminUser}
	if !slices.Equal(chain, want) {
		t.Errorf("home-1 is there because of %q, want %q", chain, want)
	}
}

// Handlers receive all objects again after the SyncPeriod: the kind's, the cache's, or
// controller-runtime's default of ten hours.
func TestResync(t *testing.T) {
	t.Parallel()
	hour := time.Hour
	for name, of := range map[string]struct {
		options cache.Options
		want    []time.Duration
	}{
		"default": {cache.Options{}, []time.Duration{0, 10 * hour, 20 * hour}},
		"all":     {cache.Options{SyncPeriod: ptr.To(9 * hour)}, []time.Duration{0, 9 * hour, 18 * hour}},
		"a kind": {
			cache.Options{SyncPeriod: &hour, ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {SyncPeriod: ptr.To(12 * hour)}}},
			[]time.Duration{0, 12 * hour, 24 * hour},
		},
		"namespaces": {
			cache.Options{DefaultNamespaces: map[string]cache.Config{"default": {SyncPeriod: ptr.To(8 * hour)}, "kube-system": {}}},
			[]time.Duration{0, 8 * hour, 16 * hour, 24 * hour},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newStill(t)
			if _, err := c.Client().CoreV1().ConfigMaps("default").Create(t.Context(), configMap("web"), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			seen := newRuns(c)
			mgr := ctrltest.NewManager(t, c, ctrl.Options{Cache: of.options})
			newConfigMaps(t, mgr, func(_ context.Context, req ctrl.Request) (ctrl.Result, error) {
				if req.Name == "web" {
					seen.note()
				}
				return ctrl.Result{}, nil
			})
			ctrltest.Start(t, mgr)
			advance(t, c, 24*hour)
			seen.expect(t, of.want...)
		})
	}
}
