package apiserver_test

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// fill creates n ConfigMaps m00, m01, ... whose label parity is even or odd.
func fill(t testing.TB, h *harness, n int) (last string) {
	t.Helper()
	maps := h.client().CoreV1().ConfigMaps("default")
	for i := range n {
		cm := configMap(fmt.Sprintf("m%02d", i))
		cm.Labels = map[string]string{"parity": []string{"even", "odd"}[i%2]}
		last = must(maps.Create(h.ctx, cm, metav1.CreateOptions{}))(t).ResourceVersion
	}
	return last
}

func names(list *corev1.ConfigMapList) string {
	var all []string
	for i := range list.Items {
		all = append(all, list.Items[i].Name)
	}
	return strings.Join(all, " ")
}

// A list in pages has the state of one revision, regardless of writes in between.
func TestPages(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		fill(t, h, 7)
		maps := h.client(cfg).CoreV1().ConfigMaps("default")
		whole := names(must(maps.List(h.ctx, metav1.ListOptions{}))(t))
		var pages []string
		opts := metav1.ListOptions{Limit: 3}
		revision := ""
		for remaining := int64(4); ; remaining -= 3 {
			page := must(maps.List(h.ctx, opts))(t)
			pages = append(pages, names(page))
			if revision == "" {
				revision = page.ResourceVersion
			}
			if page.ResourceVersion != revision {
				t.Fatalf("a page is of %s, the first was of %s", page.ResourceVersion, revision)
			}
			if page.Continue == "" {
				break
			}
			if page.RemainingItemCount == nil || *page.RemainingItemCount != remaining {
				t.Fatalf("remaining: %v, want %d", page.RemainingItemCount, remaining)
			}
			opts.Continue = page.Continue
			name := "m0" + strconv.Itoa(len(pages)*2)
			if err := maps.Delete(h.ctx, name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			must(maps.Create(h.ctx, configMap("m05a"+strconv.Itoa(len(pages))), metav1.CreateOptions{}))(t)
		}
		if got := strings.Join(pages, " "); got != whole || len(pages) != 3 {
			t.Fatalf("pages %q, the whole was %q", pages, whole)
		}
	})
}

func TestPagesWithSelector(t *testing.T) {
	h := start(t)
	fill(t, h, 9)
	maps := h.client().CoreV1().ConfigMaps("default")
	opts := metav1.ListOptions{Limit: 2, LabelSelector: "parity=odd"}
	var pages []string
	for {
		page := must(maps.List(h.ctx, opts))(t)
		pages = append(pages, names(page))
		if page.RemainingItemCount != nil {
			t.Fatal("what remains is counted though a selector narrows it")
		}
		if opts.Continue = page.Continue; opts.Continue == "" {
			break
		}
	}
	if got := strings.Join(pages, ","); strings.TrimRight(got, ",") != "m01 m03,m05 m07" {
		t.Fatalf("pages: %q", got)
	}
}

// A token whose revision is compacted gets an error with a token that continues
// inconsistently.
func TestExpiredContinue(t *testing.T) {
	h := start(t)
	fill(t, h, 5)
	maps := h.client().CoreV1().ConfigMaps("default")
	first := must(maps.List(h.ctx, metav1.ListOptions{Limit: 2}))(t)
	if err := maps.Delete(h.ctx, "m03", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	h.compact()
	_, err := maps.List(h.ctx, metav1.ListOptions{Limit: 2, Continue: first.Continue})
	s := wantStatus(t, err, 410, metav1.StatusReasonExpired, "The provided continue parameter is too old to display a consistent list result.")
	if s.Continue == "" {
		t.Fatal("no token to go on with")
	}
	rest := must(maps.List(h.ctx, metav1.ListOptions{Continue: s.Continue}))(t)
	if names(rest) != "m02 m04" || rest.Continue != "" {
		t.Fatalf("the rest: %q", names(rest))
	}
	page := must(maps.List(h.ctx, metav1.ListOptions{Continue: s.Continue, Limit: 1}))(t)
	if names(page) != "m02" {
		t.Fatalf("a page of the rest: %q", names(page))
	}
	// From there on the list has the state of one revision again.
	must(maps.Create(h.ctx, configMap("m05"), metav1.CreateOptions{}))(t)
	rest = must(maps.List(h.ctx, metav1.ListOptions{Continue: page.Continue}))(t)
	if names(rest) != "m04" || rest.ResourceVersion != page.ResourceVersion {
		t.Fatalf("the rest of an inconsistent list: %q", names(rest))
	}
	h.compact()
	_, err = maps.List(h.ctx, metav1.ListOptions{Continue: page.Continue})
	wantStatus(t, err, 410, metav1.StatusReasonExpired, "continue token in this response")
}

// compact compacts everything before the newest revision.
func (h *harness) compact() {
	h.t.Helper()
	revision, err := h.store.Revision(h.ctx)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.store.Compact(h.ctx, revision); err != nil {
		h.t.Fatal(err)
	}
}

// The table of the API Concepts page: the result of a list for each combination of
// resourceVersion, resourceVersionMatch, limit and continue.
func TestListResourceVersions(t *testing.T) {
	h := start(t)
	old := fill(t, h, 2)
	maps := h.client().CoreV1().ConfigMaps("default")
	must(maps.Create(h.ctx, configMap("n"), metav1.CreateOptions{}))(t)
	const whole, past = "m00 m01 n", "m00 m01"
	for _, c := range []struct {
		rv, match string
		limit     int64
		want      string // names, or the reason of an error
		exactly   bool   // the list has exactly the requested version
	}{
		{"", "", 0, whole, false},
		{"", "", 9, whole, false},
		{"0", "", 0, whole, false},
		{"0", "", 9, whole, false},
		{"0", "", 1, whole, false}, // the limit does not apply to lists from the cache
		{old, "", 0, whole, false},
		{old, "", 9, past, true},
		{"", "NotOlderThan", 0, "Invalid", false},
		{"", "Exact", 0, "Invalid", false},
		{"", "Exact", 9, "Invalid", false},
		{"0", "NotOlderThan", 0, whole, false},
		{"0", "NotOlderThan", 1, whole, false},
		{"0", "Exact", 0, "Invalid", false},
		{"0", "Exact", 9, "Invalid", false},
		{old, "NotOlderThan", 0, whole, false},
		{old, "NotOlderThan", 9, whole, false},
		{old, "NotOlderThan", 1, "m00", false},
		{"", "", 1, "m00", false},
		{old, "", 1, "m00", true},
		{old, "Exact", 1, "m00", true},
		{old, "Exact", 0, past, true},
		{old, "Exact", 9, past, true},
		{old, "Sometimes", 0, "Invalid", false},
		{"nonsense", "", 0, "BadRequest", false},
		{"-1", "", 0, "BadRequest", false},
	} {
		list, err := maps.List(h.ctx, metav1.ListOptions{ResourceVersion: c.rv, ResourceVersionMatch: metav1.ResourceVersionMatch(c.match), Limit: c.limit})
		if err != nil {
			if reason := apierrors.ReasonForError(err); string(reason) != c.want {
				t.Errorf("%+v: %s: %v", c, reason, err)
			}
			continue
		}
		if names(list) != c.want {
			t.Errorf("%+v: %q", c, names(list))
		}
		if c.exactly && list.ResourceVersion != c.rv {
			t.Errorf("%+v: the list's version is %s", c, list.ResourceVersion)
		}
	}
}

func TestListCompactedVersion(t *testing.T) {
	h := start(t)
	old := fill(t, h, 2)
	maps := h.client().CoreV1().ConfigMaps("default")
	must(maps.Create(h.ctx, configMap("n"), metav1.CreateOptions{}))(t)
	h.compact()
	_, err := maps.List(h.ctx, metav1.ListOptions{ResourceVersion: old, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	wantStatus(t, err, 410, metav1.StatusReasonExpired, "The resourceVersion for the provided list is too old.")
	if list := must(maps.List(h.ctx, metav1.ListOptions{ResourceVersion: old}))(t); names(list) != "m00 m01 n" {
		t.Fatalf("not older than a forgotten version: %q", names(list))
	}
}

func TestGetResourceVersions(t *testing.T) {
	h := start(t)
	old := fill(t, h, 1)
	maps := h.client().CoreV1().ConfigMaps("default")
	for _, rv := range []string{"", "0", old} {
		must(maps.Get(h.ctx, "m00", metav1.GetOptions{ResourceVersion: rv}))(t)
		_, err := maps.Get(h.ctx, "none", metav1.GetOptions{ResourceVersion: rv})
		wantStatus(t, err, 404, metav1.StatusReasonNotFound, `configmaps "none" not found`)
	}
	_, err := maps.Get(h.ctx, "m00", metav1.GetOptions{ResourceVersion: "new"})
	wantStatus(t, err, 500, metav1.StatusReasonUnknown, `resourceVersion: Invalid value: "new": strconv.ParseUint: parsing "new": invalid syntax`)
	_, err = maps.List(h.ctx, metav1.ListOptions{ResourceVersion: "new"})
	wantStatus(t, err, 400, metav1.StatusReasonBadRequest, `invalid resource version: resourceVersion: Invalid value: "new": strconv.ParseUint`)
}

func TestContinueIsChecked(t *testing.T) {
	h := start(t)
	fill(t, h, 3)
	maps := h.client().CoreV1().ConfigMaps("default")
	page := must(maps.List(h.ctx, metav1.ListOptions{Limit: 1}))(t)
	for _, token := range []string{"x", "!!", "e30", page.Continue[:len(page.Continue)/2], "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi8uLi9zZWNyZXRzIn0"} {
		_, err := maps.List(h.ctx, metav1.ListOptions{Continue: token})
		wantStatus(t, err, 400, metav1.StatusReasonBadRequest, "invalid continue token: continue key is not valid")
	}
	_, err := maps.List(h.ctx, metav1.ListOptions{Continue: page.Continue, ResourceVersion: page.ResourceVersion})
	wantStatus(t, err, 400, metav1.StatusReasonBadRequest, "specifying resource version is not allowed when using continue")
}

func TestLabelSelectors(t *testing.T) {
	h := start(t)
	fill(t, h, 4)
	maps := h.client().CoreV1().ConfigMaps("default")
	for selector, want := range map[string]string{
		"parity=even": "m00 m02", "parity!=even": "m01 m03", "parity in (odd)": "m01 m03", "parity notin (odd)": "m00 m02",
		"parity": "m00 m01 m02 m03", "!parity": "", "parity=even,parity=odd": "", "": "m00 m01 m02 m03",
	} {
		if got := names(must(maps.List(h.ctx, metav1.ListOptions{LabelSelector: selector}))(t)); got != want {
			t.Errorf("%q: %q, want %q", selector, got, want)
		}
	}
	for _, bad := range []string{"a=b=c", "a in b", "=x", "a b", "-a=b", "a=" + strings.Repeat("x", 64)} {
		_, err := maps.List(h.ctx, metav1.ListOptions{LabelSelector: bad})
		wantStatus(t, err, 400, metav1.StatusReasonBadRequest, "")
	}
}

func TestFieldSelectors(t *testing.T) {
	h := start(t)
	client := h.client()
	for name, node := range map[string]string{"p1": "n1", "p2": "n2", "p3": ""} {
		p := pod(name)
		p.Spec.NodeName = node
		must(client.CoreV1().Pods("default").Create(h.ctx, p, metav1.CreateOptions{}))(t)
	}
	for selector, want := range map[string]string{
		"spec.nodeName=n1": "p1", "spec.nodeName!=n1": "p2 p3", "spec.nodeName=": "p3", "metadata.name=p2": "p2",
		"metadata.namespace=default,spec.nodeName=n2": "p2", "status.phase=Pending": "p1 p2 p3", "status.phase!=Pending": "",
	} {
		for _, limit := range []int64{0, 9} {
			list := must(client.CoreV1().Pods("").List(h.ctx, metav1.ListOptions{FieldSelector: selector, Limit: limit}))(t)
			var got []string
			for i := range list.Items {
				got = append(got, list.Items[i].Name)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%q: %q, want %q", selector, got, want)
			}
		}
	}
	_, err := client.CoreV1().Pods("default").List(h.ctx, metav1.ListOptions{FieldSelector: "spec.nonsense=x"})
	s := wantStatus(t, err, 400, metav1.StatusReasonBadRequest, "field label not supported: spec.nonsense")
	if !strings.HasPrefix(s.Message, "field label") {
		t.Fatalf("kubectl adds its own words before: %q", s.Message)
	}
	_, err = client.CoreV1().Nodes().List(h.ctx, metav1.ListOptions{FieldSelector: "metadata.namespace=x"})
	wantStatus(t, err, 400, metav1.StatusReasonBadRequest, "field label not supported: metadata.namespace")
	_, err = client.CoreV1().Pods("default").Watch(h.ctx, metav1.ListOptions{FieldSelector: "nonsense"})
	wantStatus(t, err, 400, metav1.StatusReasonBadRequest, "invalid selector")
}

// Events are the same objects in both groups, each with its own field labels.
func TestEventSelectors(t *testing.T) {
	h := start(t)
	client := h.client()
	for _, name := range []string{"a", "b"} {
		must(client.CoreV1().Events("default").Create(h.ctx, &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Name: "event-" + name, Namespace: "default"},
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: name, APIVersion: "v1"},
			Reason:         "Because", Type: corev1.EventTypeNormal, ReportingController: "controller-" + name,
		}, metav1.CreateOptions{}))(t)
	}
	core := func(selector string) (string, error) { return coreEvents(h, client, selector) }
	newer := func(selector string) (string, error) { return newerEvents(h, client, selector) }
	for _, c := range []struct {
		list           func(string) (string, error)
		selector, want string
	}{
		{core, "involvedObject.name=a", "event-a"},
		{core, "involvedObject.kind=Pod,involvedObject.namespace=default", "event-a event-b"},
		{core, "involvedObject.uid=", "event-a event-b"},
		{core, "reason=Because,type=Normal", "event-a event-b"},
		{core, "source=controller-b", "event-b"},
		{core, "reportingComponent=controller-a", "event-a"},
		{newer, "regarding.name=a", "event-a"},
		{newer, "regarding.name!=a", "event-b"},
		{newer, "regarding.kind=Pod", "event-a event-b"},
		{newer, "reportingController=controller-b", "event-b"},
		{newer, "reason=Other", ""},
		{newer, "metadata.name=event-b", "event-b"},
	} {
		got, err := c.list(c.selector)
		if err != nil || got != c.want {
			t.Errorf("%q: %q, want %q (%v)", c.selector, got, c.want, err)
		}
	}
	if _, err := newer("involvedObject.name=a"); !apierrors.IsBadRequest(err) {
		t.Errorf("the other group's label: %v", err)
	}
	if _, err := core("regarding.name=a"); !apierrors.IsBadRequest(err) {
		t.Errorf("the other group's label: %v", err)
	}
}

func coreEvents(h *harness, client kubernetes.Interface, selector string) (string, error) {
	list, err := client.CoreV1().Events("default").List(h.ctx, metav1.ListOptions{FieldSelector: selector})
	if err != nil {
		return "", err
	}
	return nameList(list.Items, func(e *corev1.Event) string { return e.Name }), nil
}

func newerEvents(h *harness, client kubernetes.Interface, selector string) (string, error) {
	list, err := client.EventsV1().Events("default").List(h.ctx, metav1.ListOptions{FieldSelector: selector})
	if err != nil {
		return "", err
	}
	return nameList(list.Items, func(e *eventsv1.Event) string { return e.Name }), nil
}

func nameList[T any](items []T, name func(*T) string) string {
	var all []string
	for i := range items {
		all = append(all, name(&items[i]))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// Selectors match the same in pages from the store and from the cache.
func TestPagesSelectAlike(t *testing.T) {
	h := start(t)
	fill(t, h, 6)
	maps := h.client().CoreV1().ConfigMaps("default")
	first := must(maps.List(h.ctx, metav1.ListOptions{Limit: 1, FieldSelector: "metadata.name!=m00", LabelSelector: "parity=even"}))(t)
	if names(first) != "m02" || first.Continue == "" {
		t.Fatalf("first page: %q", names(first))
	}
	second := must(maps.List(h.ctx, metav1.ListOptions{Limit: 5, FieldSelector: "metadata.name!=m00", LabelSelector: "parity=even", Continue: first.Continue}))(t)
	if names(second) != "m04" || second.Continue != "" {
		t.Fatalf("second page: %q, continue %q", names(second), second.Continue)
	}
}

// URL parameters are read as upstream reads them.
func TestRawListParameters(t *testing.T) {
	h := start(t)
	fill(t, h, 3)
	const path = "/api/v1/namespaces/default/configmaps?"
	for query, code := range map[string]int{
		"limit=1": 200, "limit=x": 400, "limit=-1": 200, "limit=": 400, "timeoutSeconds=x&watch=true": 400, "allowWatchBookmarks=maybe": 200,
		"resourceVersion=0": 200, "unknown=1": 200, "watch=0": 200, "watch=false": 200,
		"labelSelector=" + url.QueryEscape("a in (b,c)"): 200, "sendInitialEvents=true": 422,
	} {
		if r := h.send("GET", path+query, ""); r.code != code {
			t.Errorf("%s: %d, want %d\n%s", query, r.code, code, r.body)
		}
	}
}
