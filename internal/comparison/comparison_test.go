package comparison

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// object reads an object in JSON.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	if text == "" {
		return nil
	}
	var o map[string]any
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// What two clusters never have in common is no difference; all else is, with its path.
func TestDifferences(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		here, there string
		want        []string
	}{
		"the same":     {`{"spec": {"a": 1}}`, `{"spec": {"a": 1}}`, nil},
		"identities":   {`{"metadata": {"uid": "a", "resourceVersion": "1", "generation": 2, "name": "x"}}`, `{"metadata": {"uid": "b", "name": "x", "managedFields": [{}]}}`, nil},
		"owners":       {`{"metadata": {"ownerReferences": [{"uid": "a", "name": "x"}]}}`, `{"metadata": {"ownerReferences": [{"uid": "b", "name": "x"}]}}`, nil},
		"times":        {`{"status": {"startTime": "2026-01-05T00:00:00Z", "x": 1}}`, `{"status": {"startTime": "2026-01-05T00:00:01.5Z", "x": 1}}`, nil},
		"a time only":  {`{"status": {"startTime": "2026-01-05T00:00:00Z"}}`, `{}`, nil},
		"no time":      {`{"spec": {"a": "2026-01-05T00:00:00X"}}`, `{"spec": {"a": "2026-01-05T00:00:00Y"}}`, []string{`spec.a: "2026-01-05T00:00:00X" "2026-01-05T00:00:00Y"`}},
		"a value":      {`{"spec": {"replicas": 3}}`, `{"spec": {"replicas": 5}}`, []string{"spec.replicas: 3 5"}},
		"unset":        {`{"spec": {"unschedulable": true}}`, `{"spec": {}}`, []string{"spec.unschedulable: true "}},
		"a label":      {`{"metadata": {"labels": {"a.b/c": "1"}}}`, `{"metadata": {"labels": {}}}`, []string{`metadata.labels.a.b/c: "1" `}},
		"in a list":    {`{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}`, `{"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}`, []string{`status.conditions[0].status: "True" "Unknown"`}},
		"conditions":   {`{"status": {"conditions": [{"type": "A", "reason": "Z"}, {"type": "B"}]}}`, `{"status": {"conditions": [{"type": "B"}, {"type": "A", "reason": "Z"}]}}`, nil},
		"other length": {`{"a": [1]}`, `{"a": [1, 2]}`, []string{"a: [1] [1,2]"}},
		"other type":   {`{"a": {"b": 1}}`, `{"a": [1]}`, []string{`a: {"b":1} [1]`}},
		"endpoints": {
			`{"kind": "EndpointSlice", "addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.7"], "nodeName": "a"}, {"addresses": ["10.0.0.9"], "nodeName": "b"}]}`,
			`{"kind": "EndpointSlice", "addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.2"], "nodeName": "b"}, {"addresses": ["10.0.0.3"], "nodeName": "a"}]}`, nil,
		},
		"an endpoint that is not ready": {
			`{"kind": "EndpointSlice", "endpoints": [{"addresses": ["fd00::7"], "conditions": {"ready": true}}]}`,
			`{"kind": "EndpointSlice", "endpoints": [{"addresses": ["fd00::8"], "conditions": {"ready": false}}]}`,
			[]string{"endpoints[0].conditions.ready: true false"},
		},
		"an endpoint more": {
			`{"kind": "EndpointSlice", "endpoints": [{"addresses": ["10.0.0.7"]}]}`,
			`{"kind": "EndpointSlice", "endpoints": []}`,
			[]string{`endpoints: [{"addresses":[null]}] []`},
		},
		"old endpoints": {
			`{"kind": "Endpoints", "subsets": [{"addresses": [{"ip": "10.0.0.1", "targetRef": {"name": "b"}}, {"ip": "10.0.0.2", "targetRef": {"name": "a"}}], "ports": [{"port": 80}]}]}`,
			`{"kind": "Endpoints", "subsets": [{"addresses": [{"ip": "10.0.0.4", "targetRef": {"name": "a"}}, {"ip": "10.0.0.5", "targetRef": {"name": "b"}}], "ports": [{"port": 80}]}]}`, nil,
		},
		"cluster IPs": {`{"spec": {"clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.7"]}}`, `{"spec": {"clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.9"]}}`, nil},
		"headless":    {`{"spec": {"clusterIP": "None", "type": "ClusterIP"}}`, `{"spec": {"clusterIP": "10.96.0.9", "type": "ClusterIP"}}`, []string{`spec.clusterIP: "None" `}},
		"a node": {
			`{"kind": "Node", "spec": {"podCIDR": "10.244.1.0/24", "podCIDRs": ["10.244.1.0/24"]}, "status": {"addresses": [{"type": "InternalIP", "address": "10.1.0.1"}]}}`,
			`{"kind": "Node", "spec": {"podCIDR": "10.244.2.0/24", "podCIDRs": ["10.244.2.0/24"]}, "status": {"addresses": [{"type": "InternalIP", "address": "10.1.0.2"}]}}`, nil,
		},
		"a load balancer":  {`{"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4", "ipMode": "VIP"}]}}}`, `{"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.5", "ipMode": "VIP"}]}}}`, nil},
		"a user's address": {`{"kind": "ConfigMap", "data": {"server": "10.0.0.1"}}`, `{"kind": "ConfigMap", "data": {"server": "10.0.0.2"}}`, []string{`data.server: "10.0.0.1" "10.0.0.2"`}},
		"images":           {`{"kind": "Node", "status": {"images": [1]}}`, `{"kind": "Node", "status": {}}`, nil},
		"secrets":          {`{"kind": "Secret", "data": {"a": "aaaa", "b": "xx"}}`, `{"kind": "Secret", "data": {"a": "bbbb", "b": "xxx"}}`, []string{`data.b: "2 characters" "3 characters"`}},
		"long values":      {`{"a": "` + strings.Repeat("x", 500) + `1"}`, `{"a": "` + strings.Repeat("x", 500) + `22"}`, []string{`a: …` + strings.Repeat("x", before) + `1" …` + strings.Repeat("x", before) + `22"`}},
		"a long value":     {`{"a": "` + strings.Repeat("x", 500) + `"}`, `{}`, []string{`a: "` + strings.Repeat("x", maxValue-1) + "… "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fields, more := differences(Lasting(object(t, test.here)), Lasting(object(t, test.there)))
			var got []string
			for _, f := range fields {
				got = append(got, fmt.Sprint(f.Path, ": ", f.Here, " ", f.There))
			}
			if !slices.Equal(got, test.want) || more != 0 {
				t.Errorf("got %q and %d more, want %q", got, more, test.want)
			}
		})
	}
	many := map[string]any{}
	for i := range maxFields + 7 {
		many[fmt.Sprint("f", i)] = i
	}
	if fields, more := differences(many, map[string]any{}); len(fields) != maxFields || more != 7 {
		t.Errorf("%d fields and %d more are shown", len(fields), more)
	}
}

// Each change moves an object to where it belongs, and the counts follow.
func TestComparison(t *testing.T) {
	t.Parallel()
	c := &Comparison{}
	if len(c.Kinds()) != 0 || c.Counts(Here).Pods == nil {
		t.Error("the zero value is of no use")
	}
	pod := func(name string) Key { return Key{Kind: "Pod", Namespace: "default", Name: name} }
	node := Key{Kind: "Node", Name: "node-0"}
	const running, pending = `{"status": {"phase": "Running"}}`, `{"status": {"phase": "Pending"}}`
	state := func() string {
		var b strings.Builder
		for _, k := range c.Kinds() {
			fmt.Fprintf(&b, "%s %d:%d ≠%d %v %v;", k.Kind, k.Here, k.There, k.Differ, k.OnlyHere, k.OnlyThere)
		}
		for _, side := range []Side{Here, There} {
			n := c.Counts(side)
			fmt.Fprintf(&b, " %d/%d %v", n.Ready, n.Nodes, n.Pods)
		}
		return b.String()
	}
	for _, step := range []struct {
		side   Side
		key    Key
		object string
		want   string
	}{
		{Here, pod("a"), running, "Pod 1:0 ≠0 [default/a] []; 0/0 map[Running:1] 0/0 map[]"},
		{There, pod("a"), pending, "Pod 1:1 ≠1 [] []; 0/0 map[Running:1] 0/0 map[Pending:1]"},
		{There, pod("a"), running, "Pod 1:1 ≠0 [] []; 0/0 map[Running:1] 0/0 map[Running:1]"},
		{There, pod("b"), running, "Pod 1:2 ≠0 [] [default/b]; 0/0 map[Running:1] 0/0 map[Running:2]"},
		{Here, pod("a"), "", "Pod 0:2 ≠0 [] [default/a default/b]; 0/0 map[] 0/0 map[Running:2]"},
		{There, pod("a"), "", "Pod 0:1 ≠0 [] [default/b]; 0/0 map[] 0/0 map[Running:1]"},
		{There, pod("b"), "", " 0/0 map[] 0/0 map[]"},
		{There, pod("b"), "", " 0/0 map[] 0/0 map[]"},
		{Here, node, `{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}`, "Node 1:0 ≠0 [node-0] []; 1/1 map[] 0/0 map[]"},
		{Here, node, `{"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}`, "Node 1:0 ≠0 [node-0] []; 0/1 map[] 0/0 map[]"},
	} {
		c.Set(step.side, step.key, object(t, step.object))
		if got := state(); got != step.want {
			t.Errorf("after %v of %s: %s, want %s", step.key, step.object, got, step.want)
		}
	}
	if len(c.pairs) != 1 {
		t.Errorf("%d objects are kept", len(c.pairs))
	}
	for i := range maxNames + 10 {
		c.Set(There, pod(fmt.Sprintf("p-%03d", i)), object(t, running))
	}
	if k := c.Kinds()[1]; len(k.OnlyThere) != maxNames || k.There != maxNames+10 {
		t.Errorf("%d of %d are listed", len(k.OnlyThere), k.There)
	}
}

// A comparison keeps nothing of the caller's object, and changes nothing in it.
func TestKeepsNothing(t *testing.T) {
	t.Parallel()
	c, key := &Comparison{}, Key{Kind: "ConfigMap", Name: "a"}
	mine := object(t, `{"kind": "Secret", "data": {"a": "b"}, "metadata": {"uid": "x"}}`)
	c.Set(Here, key, mine)
	if text(mine) != `{"data":{"a":"b"},"kind":"Secret","metadata":{"uid":"x"}}` {
		t.Errorf("the object is changed to %s", text(mine))
	}
	mine["data"].(map[string]any)["a"] = "changed"
	if got := text(c.pairs[key].objects[Here]); strings.Contains(got, "changed") || strings.Contains(got, `"b"`) {
		t.Errorf("it keeps %s", got)
	}
}

func BenchmarkSet(b *testing.B) {
	c := &Comparison{}
	o := map[string]any{"metadata": map[string]any{"name": "a", "labels": map[string]any{"app": "web"}}, "spec": map[string]any{"nodeName": "n"}, "status": map[string]any{"phase": "Running"}}
	for i := range 10_000 {
		c.Set(Here, Key{Kind: "Pod", Namespace: "default", Name: fmt.Sprint(i)}, o)
	}
	for b.Loop() {
		c.Set(There, Key{Kind: "Pod", Namespace: "default", Name: "5"}, o)
	}
}
