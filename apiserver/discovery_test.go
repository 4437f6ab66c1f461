package apiserver_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/internal/golden"
)

func pretty(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, data, "", " "); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// The discovery of a few kinds, as plain documents and aggregated.
func TestDiscoveryGolden(t *testing.T) {
	h := start(t, func(o *apiserver.Options) {
		var few []*resources.Resource
		for _, row := range resources.Builtin().All() {
			switch row.Plural {
			case "pods", "bindings", "configmaps", "namespaces", "services", "serviceaccounts", "events", "priorityclasses", "deployments", "servicecidrs", "ipaddresses", "resourcequotas":
				few = append(few, row)
			default:
				if row.Group == "admissionregistration.k8s.io" || row.Group == "rbac.authorization.k8s.io" { // the kinds that admission and authorization use
					few = append(few, row)
				}
			}
		}
		o.Resources = resources.NewTable(few...)
	})
	for name, path := range map[string]string{"api-v1.json": "/api/v1", "apps-v1.json": "/apis/apps/v1", "apis.json": "/apis", "events-group.json": "/apis/events.k8s.io"} {
		golden.Compare(t, "testdata/"+name, pretty(t, h.mustSend("GET", path, "").body))
	}
	golden.Compare(t, "testdata/api-aggregated.json", pretty(t, h.mustSend("GET", "/api", "", "Accept", aggregatedType).body))
}

// Both forms have the same content, and clients can read them.
func TestDiscoveryFormsAgree(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		client := must(discovery.NewDiscoveryClientForConfigAndClient(cfg, h.httpClient(cfg)))(t)
		groups, aggregated, err := client.ServerGroupsAndResources()
		if err != nil {
			t.Fatal(err)
		}
		legacy := *client
		legacy.UseLegacyDiscovery = true
		plainGroups, plain, err := legacy.ServerGroupsAndResources()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(listing(plain), listing(aggregated)); diff != "" {
			t.Errorf("plain and aggregated discovery differ:\n%s", diff)
		}
		if len(groups) != len(plainGroups) || len(groups) < 5 {
			t.Errorf("%d and %d groups", len(groups), len(plainGroups))
		}
		mapper := restmapper.NewDiscoveryRESTMapper(must(restmapper.GetAPIGroupResources(client))(t))
		mapping, err := mapper.RESTMapping(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind())
		if err != nil || mapping.Resource.Resource != "pods" {
			t.Errorf("mapping: %+v %v", mapping, err)
		}
	})
}

// listing returns group version -> name -> verbs.
func listing(lists []*metav1.APIResourceList) map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, list := range lists {
		all[list.GroupVersion] = map[string]string{}
		for _, r := range list.APIResources {
			all[list.GroupVersion][r.Name] = r.Kind + " " + strings.Join(r.Verbs, ",")
		}
	}
	return all
}

func TestDiscoveryETag(t *testing.T) {
	h := start(t)
	for _, path := range []string{"/api", "/apis"} {
		first := h.mustSend("GET", path, "", "Accept", aggregatedType)
		etag := first.header.Get("ETag")
		if etag == "" || first.header.Get("Content-Type") != aggregatedType || !strings.Contains(first.header.Get("Vary"), "Accept") {
			t.Fatalf("%s: %v", path, first.header)
		}
		var list apidiscovery.APIGroupDiscoveryList
		first.into(t, &list)
		if list.Kind != "APIGroupDiscoveryList" || list.APIVersion != "apidiscovery.k8s.io/v2" || len(list.Items) == 0 {
			t.Fatalf("%s: %+v", path, list.TypeMeta)
		}
		if again := h.send("GET", path, "", "Accept", aggregatedType, "If-None-Match", etag); again.code != 304 || len(again.body) != 0 {
			t.Errorf("%s with the tag: %d, %d bytes", path, again.code, len(again.body))
		}
		if other := h.send("GET", path, "", "Accept", aggregatedType, "If-None-Match", `"other"`); other.code != 200 {
			t.Errorf("%s with another tag: %d", path, other.code)
		}
	}
}

func TestHealthAndVersion(t *testing.T) {
	h := start(t)
	for _, name := range []string{"healthz", "livez", "readyz"} {
		if r := h.mustSend("GET", "/"+name, ""); string(r.body) != "ok" {
			t.Errorf("%s: %s", name, r.body)
		}
		r := h.mustSend("GET", "/"+name+"?verbose", "")
		if text := string(r.body); !strings.Contains(text, "[+]ping ok\n[+]etcd ok\n") || !strings.HasSuffix(text, name+" check passed\n") {
			t.Errorf("%s: %s", name, text)
		}
		if r = h.mustSend("GET", "/"+name+"?verbose&exclude=etcd", ""); !strings.Contains(string(r.body), "[+]etcd excluded: ok") {
			t.Errorf("%s: %s", name, r.body)
		}
		if r = h.mustSend("GET", "/"+name+"/etcd", ""); string(r.body) != "ok" {
			t.Errorf("%s/etcd: %s", name, r.body)
		}
	}
	var v version.Info
	h.mustSend("GET", "/version", "").into(t, &v)
	if v.Major != "1" || v.Minor != "37" || !strings.HasPrefix(v.GitVersion, "v1.37.") || v.Platform == "" {
		t.Errorf("%+v", v)
	}
	fill(t, h, 1)
	metrics := string(h.mustSend("GET", "/metrics", "").body)
	for _, line := range []string{
		`apiserver_request_total{code="201",group="",resource="configmaps",scope="namespace",subresource="",verb="POST",version="v1"} 1`,
		"apiserver_request_duration_seconds_bucket{", "apiserver_current_inflight_requests{", "process_resident_memory_bytes", "go_goroutines",
	} {
		if !strings.Contains(metrics, line) && !strings.Contains(metrics, strings.Replace(line, `scope="namespace"`, `scope="resource"`, 1)) {
			t.Errorf("no %s", line)
		}
	}
	if err := h.store.Close(); err != nil {
		t.Fatal(err)
	}
	if r := h.send("GET", "/readyz", ""); r.code != 500 || !strings.Contains(string(r.body), "[-]etcd failed") {
		t.Errorf("with the store gone: %d %s", r.code, r.body)
	}
}

// The objects that every cluster has exist from the start.
func TestBootstrap(t *testing.T) {
	h := start(t)
	svc := must(h.client().CoreV1().Services("default").Get(h.ctx, "kubernetes", metav1.GetOptions{}))(t)
	if svc.Spec.ClusterIP != "10.96.0.1" || len(svc.Spec.Ports) != 1 || svc.Spec.Ports[0].Port != 443 || svc.UID == "" {
		t.Errorf("%+v", svc.Spec)
	}
	namespaces := must(h.client().CoreV1().Namespaces().List(h.ctx, metav1.ListOptions{}))(t)
	if got := nameList(namespaces.Items, func(ns *corev1.Namespace) string { return ns.Name }); got != "default kube-node-lease kube-public kube-system" {
		t.Errorf("namespaces: %s", got)
	}
}

func TestGzipAndHead(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		cfg.DisableCompression = true
		must(h.client().CoreV1().ConfigMaps("default").Create(h.ctx, configMap("a", "k", strings.Repeat("x", 200_000)), metav1.CreateOptions{}))(t)
		plain := h.raw(cfg, "GET", mapsPath+"/a", "")
		zipped := h.raw(cfg, "GET", mapsPath+"/a", "", "Accept-Encoding", "gzip")
		if plain.header.Get("Content-Encoding") != "" || zipped.header.Get("Content-Encoding") != "gzip" || len(zipped.body) > len(plain.body)/10 {
			t.Fatalf("%d bytes, compressed %d: %v", len(plain.body), len(zipped.body), zipped.header)
		}
		reader := must(gzip.NewReader(bytes.NewReader(zipped.body)))(t)
		if unzipped := must(io.ReadAll(reader))(t); !bytes.Equal(unzipped, plain.body) {
			t.Fatal("the compressed answer is another")
		}
		if small := h.raw(cfg, "GET", "/api/v1/namespaces/default", "", "Accept-Encoding", "gzip"); small.header.Get("Content-Encoding") != "" {
			t.Fatal("a short answer is compressed")
		}
		for path, code := range map[string]int{mapsPath: 405, mapsPath + "/a": 405} {
			if head := h.raw(cfg, "HEAD", path, ""); head.code != code || len(head.body) != 0 {
				t.Fatalf("HEAD %s: %d, %d bytes, %v", path, head.code, len(head.body), head.header)
			}
		}
	})
}

// Tables have upstream's columns, and their rows include the requested objects.
func TestTables(t *testing.T) {
	h := start(t)
	must(h.client().CoreV1().Pods("default").Create(h.ctx, pod("p"), metav1.CreateOptions{}))(t)
	const path, accept = "/api/v1/namespaces/default/pods", "application/json;as=Table;v=v1;g=meta.k8s.io"
	for include, kind := range map[string]string{"": "PartialObjectMetadata", "?includeObject=Metadata": "PartialObjectMetadata", "?includeObject=Object": "Pod", "?includeObject=None": ""} {
		var table metav1.Table
		h.mustSend("GET", path+include, "", "Accept", accept).into(t, &table)
		if table.Kind != "Table" || table.ResourceVersion == "" || len(table.Rows) != 1 || table.ColumnDefinitions[0].Name != "Name" || table.Rows[0].Cells[0] != "p" {
			t.Fatalf("%s: %+v", include, table)
		}
		var carried metav1.TypeMeta
		if raw := table.Rows[0].Object.Raw; raw != nil && string(raw) != "null" {
			if err := json.Unmarshal(raw, &carried); err != nil {
				t.Fatal(err)
			}
		}
		if carried.Kind != kind {
			t.Errorf("%q: a row carries a %q", include, carried.Kind)
		}
	}
	r := h.send("GET", path+"?includeObject=Everything", "", "Accept", accept)
	wantReply(t, r, 400, metav1.StatusReasonBadRequest, `Unable to convert to Table as requested: includeObject: Invalid value: "Everything"`)
}

// JSON is indented for command line tools and browsers, and names in paths may be
// escaped.
func TestPrettyAndEscaped(t *testing.T) {
	h := start(t)
	h.mustSend("POST", mapsPath, asJSON(t, configMap("a")))
	for _, c := range []struct {
		query, agent string
		pretty       bool
	}{
		{"", "", false}, {"", "curl/8", true}, {"?pretty=false", "curl/8", false}, {"?pretty=true", "", true}, {"?pretty=1", "kubectl", true}, {"?pretty=maybe", "curl/8", false}, {"", "Mozilla/5.0 (X)", true},
	} {
		for path, code := range map[string]int{mapsPath: 200, mapsPath + "/a": 200, mapsPath + "/%61": 200, mapsPath + "/none": 404, "/api/v1": 200, "/apis": 200} {
			r := h.send("GET", path+c.query, "", "User-Agent", c.agent)
			if r.code != code || !json.Valid(r.body) {
				t.Fatalf("%s: %d %s", path, r.code, r.body)
			}
			if got := bytes.Contains(r.body, []byte("\n  \"")); got != c.pretty {
				t.Errorf("%s%s to %q: indented: %v", path, c.query, c.agent, got)
			}
		}
	}
}

// TestVersionOfRelease asks for the version of releases before and after 1.33, which brought the versions of emulation.
func TestVersionOfRelease(t *testing.T) {
	for served, want := range map[string]version.Info{
		"v1.32.13": {Major: "1", Minor: "32"},
		"v1.33.13": {Major: "1", Minor: "33", EmulationMajor: "1", EmulationMinor: "33", MinCompatibilityMajor: "1", MinCompatibilityMinor: "32"},
	} {
		h := start(t, func(o *apiserver.Options) { o.KubeVersion = served })
		var got version.Info
		h.mustSend("GET", "/version", "").into(t, &got)
		want.GitVersion, want.GitTreeState, want.GoVersion, want.Compiler, want.Platform = served, "clean", got.GoVersion, got.Compiler, got.Platform
		if got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}
