package watchcache

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// selecting are lists with selectors that may use lookups.
func selecting() []ListOptions {
	all := []ListOptions{
		{Label: labels.SelectorFromSet(labels.Set{"app": "x3"})},
		{Label: labels.SelectorFromSet(labels.Set{"app": "x3"}), Field: fields.OneTermEqualSelector("spec.nodeName", "n4")},
		{Field: fields.OneTermEqualSelector("spec.nodeName", "n4")},
		{Field: fields.OneTermEqualSelector("spec.nodeName", "")},
	}
	for _, text := range []string{"app in (x7)", "app=", "app in (x1,x2)", "app!=x1", "app notin (x1)", "other=x"} {
		selector, err := labels.Parse(text)
		if err != nil {
			panic(err)
		}
		all = append(all, ListOptions{Label: selector})
	}
	for i := range all {
		all[i].Prefix = prefix
		limited, within := all[i], all[i]
		limited.Limit, limited.From = 3, prefix+"default/p2"
		within.Prefix = prefix + "other/"
		all = append(all, limited, within)
	}
	return all
}

// byFilter is List without lookups.
func byFilter(f *fixture, opts ListOptions) *List {
	filter := newFilter(opts.Prefix, "", opts.Label, opts.Field)
	f.cache.mu.Lock()
	defer f.cache.mu.Unlock()
	list, _ := f.cache.snapshot.share().list(&filter, &opts)
	list.Revision = f.cache.rev
	return list
}

// Lists with selectors that require a value of a label or a field find it in a lookup once enough
// of them have read other entries, and return what they return without it.
func TestLookups(t *testing.T) {
	f := newFixture(t)
	random := rand.New(rand.NewPCG(1, 2))
	pod := func(i int) *v1.Pod {
		p := newPod(fmt.Sprint("p", i), fmt.Sprint("x", random.IntN(100)), fmt.Sprint("n", random.IntN(20)))
		if p.Namespace = []string{"default", "other"}[i%2]; i%9 == 0 {
			delete(p.Labels, "app")
		}
		return p
	}
	pods := make([]*v1.Pod, 600)
	for i := range pods {
		pods[i] = pod(i)
		f.put(pods[i])
	}
	for range 30 {
		for _, opts := range selecting() {
			got := listOf(f, opts)
			if diff := cmp.Diff(names(byFilter(f, opts)), names(got)); diff != "" {
				t.Fatalf("%v: %s", opts, diff)
			}
			if want := byFilter(f, opts); want.More != got.More || want.NextKey != got.NextKey {
				t.Fatalf("%v: more %t from %s, want %t from %s", opts, got.More, got.NextKey, want.More, want.NextKey)
			}
		}
		var revision int64
		for range 20 {
			i := random.IntN(len(pods))
			if pods[i] == nil {
				pods[i] = pod(i)
				revision = f.put(pods[i])
				continue
			}
			revision = f.remove(pods[i])
			pods[i] = nil
		}
		f.catchUp(revision)
	}
	f.cache.mu.Lock()
	defer f.cache.mu.Unlock()
	if len(f.cache.snapshot.lookups.all) != 3 {
		t.Errorf("there are %d lookups", len(f.cache.snapshot.lookups.all))
	}
}

// A cache has few lookups, and drops those that are not used while entries change.
func TestLookupsAreFew(t *testing.T) {
	f := newFixture(t)
	for i := range minLookup {
		f.put(newPod(fmt.Sprint("p", i), "x", "n"))
	}
	for label := range 2 * maxLookups {
		for range 2 + lookupAfter {
			opts := ListOptions{Prefix: prefix, Label: labels.SelectorFromSet(labels.Set{fmt.Sprint("l", label): "y"})}
			listOf(f, opts)
		}
	}
	count := func() int {
		f.cache.mu.Lock()
		defer f.cache.mu.Unlock()
		return len(f.cache.snapshot.lookups.all)
	}
	if n := count(); n != maxLookups {
		t.Errorf("%d lookups", n)
	}
	var revision int64
	for i := range (lookupAfter + 1) * minLookup {
		revision = f.put(newPod(fmt.Sprint("p", i%minLookup), fmt.Sprint("x", i), "n"))
	}
	f.catchUp(revision)
	if n := count(); n != 0 {
		t.Errorf("%d lookups that no list has used since all entries changed", n)
	}
}

// The cache has the state at every revision since the oldest change that it keeps.
func TestPast(t *testing.T) {
	f := newFixture(t)
	random := rand.New(rand.NewPCG(3, 4))
	type moment struct {
		revision int64
		entries  []*Entry
	}
	var moments []moment
	for range 200 {
		name := fmt.Sprint("p", random.IntN(20))
		var revision int64
		if entry, _, getErr := f.cache.Get(f.ctx, prefix+"default/"+name, 0); getErr != nil {
			t.Fatal(getErr)
		} else if entry != nil && random.IntN(2) == 0 {
			revision = f.remove(newPod(name, "", ""))
		} else {
			revision = f.put(newPod(name, fmt.Sprint(random.IntN(1000)), ""))
		}
		f.catchUp(revision)
		list := listOf(f, ListOptions{Prefix: prefix})
		if list.Past {
			t.Fatal("the current state is called a past one")
		}
		moments = append(moments, moment{revision, list.Entries})
	}
	for _, m := range moments {
		list := listOf(f, ListOptions{Prefix: prefix, Match: Exact, Revision: m.revision})
		if !slices.Equal(list.Entries, m.entries) || list.Revision != m.revision {
			t.Fatalf("at %d: %v, want %v", m.revision, names(list), names(&List{Entries: m.entries}))
		}
	}
}

func listOf(f *fixture, opts ListOptions) *List {
	f.Helper()
	list, err := f.cache.List(f.ctx, opts)
	if err != nil {
		f.Fatal(err)
	}
	return list
}
