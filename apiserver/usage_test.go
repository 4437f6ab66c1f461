package apiserver_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned"
	custommetrics "k8s.io/metrics/pkg/client/custom_metrics"
	externalmetrics "k8s.io/metrics/pkg/client/external_metrics"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/apiserver/internal/metricsapi"
)

// fakeMetrics is a metricsapi.Source with data for all objects except those named unknown.
type fakeMetrics struct{}

var (
	sampledAt = metav1.NewTime(time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC))
	window    = metav1.Duration{Duration: 15 * time.Second}
)

func amounts(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

func (fakeMetrics) PodMetrics(_ context.Context, _ metricsapi.World, pods []*corev1.Pod) ([]*metricsv1beta1.PodMetrics, error) {
	var all []*metricsv1beta1.PodMetrics
	for _, pod := range pods {
		if pod.Name != "unknown" {
			all = append(all, &metricsv1beta1.PodMetrics{
				ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, Labels: pod.Labels}, Timestamp: sampledAt, Window: window,
				Containers: []metricsv1beta1.ContainerMetrics{{Name: "a", Usage: amounts("100m", "1Mi")}, {Name: "b", Usage: amounts("50m", "2Mi")}},
			})
		}
	}
	return all, nil
}

func (fakeMetrics) NodeMetrics(_ context.Context, _ metricsapi.World, nodes []*corev1.Node) ([]*metricsv1beta1.NodeMetrics, error) {
	var all []*metricsv1beta1.NodeMetrics
	for _, node := range nodes {
		all = append(all, &metricsv1beta1.NodeMetrics{ObjectMeta: metav1.ObjectMeta{Name: node.Name}, Timestamp: sampledAt, Window: window, Usage: amounts("2", "3Gi")})
	}
	return all, nil
}

func (fakeMetrics) ObjectMetrics(_ context.Context, _ metricsapi.World, objects []metav1.Object, metric string) ([]*metricsapi.Sample, error) {
	samples := make([]*metricsapi.Sample, len(objects))
	for i, o := range objects {
		if metric == "qps" && o.GetName() != "unknown" {
			samples[i] = &metricsapi.Sample{Value: resource.MustParse("7"), Timestamp: sampledAt.Time}
		}
	}
	return samples, nil
}

// ExternalMetrics returns a series for each ConfigMap of the namespace.
func (fakeMetrics) ExternalMetrics(ctx context.Context, world metricsapi.World, namespace, metric string) ([]externalmetricsv1beta1.ExternalMetricValue, error) {
	configs, err := world.List(ctx, corev1.SchemeGroupVersion.WithResource("configmaps"), namespace)
	if err != nil {
		return nil, err
	}
	var all []externalmetricsv1beta1.ExternalMetricValue
	for _, obj := range configs {
		all = append(all, externalmetricsv1beta1.ExternalMetricValue{
			MetricName: metric, MetricLabels: map[string]string{"of": obj.(*corev1.ConfigMap).Name}, Timestamp: sampledAt, Value: resource.MustParse("30"),
		})
	}
	return all, nil
}

func (fakeMetrics) MetricNames(o metav1.Object) metricsapi.Names {
	switch o.GetName() {
	case "web":
		return metricsapi.Names{Own: []string{"qps"}, OfPods: []string{"hits"}, External: []string{"queue"}}
	case metav1.NamespaceDefault:
		return metricsapi.Names{Own: []string{"qps"}}
	}
	return metricsapi.Names{}
}

// startMeasured returns a server with metrics, two pods, a node and two ConfigMaps.
func startMeasured(t *testing.T) *harness {
	t.Helper()
	h := start(t, func(o *apiserver.Options) { o.Metrics = fakeMetrics{} })
	client := h.client()
	for _, name := range []string{"web", "unknown"} {
		p := pod(name)
		p.Labels = map[string]string{"app": name}
		must(client.CoreV1().Pods("default").Create(h.ctx, p, metav1.CreateOptions{}))(t)
		must(client.CoreV1().ConfigMaps("default").Create(h.ctx, configMap(name), metav1.CreateOptions{}))(t)
	}
	must(client.CoreV1().Nodes().Create(h.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, metav1.CreateOptions{}))(t)
	return h
}

// TestMetricsClients uses the client of the metrics API, in JSON and in protobuf.
func TestMetricsClients(t *testing.T) {
	h := startMeasured(t)
	for _, contentType := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		t.Run(contentType, func(t *testing.T) {
			cfg := inMemory().config(h)
			cfg.ContentType, cfg.AcceptContentTypes = contentType, contentType
			client := must(metricsclient.NewForConfig(cfg))(t).MetricsV1beta1()
			pods := must(client.PodMetricses("").List(h.ctx, metav1.ListOptions{}))(t)
			if len(pods.Items) != 1 || pods.Items[0].Name != "web" || pods.Items[0].Containers[1].Usage.Cpu().String() != "50m" || pods.Items[0].Window != window {
				t.Errorf("pods: %+v", pods)
			}
			none := must(client.PodMetricses("default").List(h.ctx, metav1.ListOptions{LabelSelector: "app=unknown"}))(t)
			if len(none.Items) != 0 {
				t.Errorf("selected: %+v", none)
			}
			one := must(client.PodMetricses("default").Get(h.ctx, "web", metav1.GetOptions{}))(t)
			if one.Name != "web" || !one.Timestamp.Equal(&sampledAt) {
				t.Errorf("one pod: %+v", one)
			}
			_, err := client.PodMetricses("default").Get(h.ctx, "unknown", metav1.GetOptions{})
			wantStatus(t, err, http.StatusNotFound, metav1.StatusReasonNotFound, `podmetrics.metrics.k8s.io "default/unknown" not found`)
			_, err = client.NodeMetricses().Get(h.ctx, "none", metav1.GetOptions{})
			wantStatus(t, err, http.StatusNotFound, metav1.StatusReasonNotFound, `nodemetrics.metrics.k8s.io "none" not found`)
			nodes := must(client.NodeMetricses().List(h.ctx, metav1.ListOptions{}))(t)
			if len(nodes.Items) != 1 || nodes.Items[0].Usage.Memory().String() != "3Gi" {
				t.Errorf("nodes: %+v", nodes)
			}
		})
	}
}

// TestCustomMetricsClients uses the clients of the other two APIs.
func TestCustomMetricsClients(t *testing.T) {
	h := startMeasured(t)
	cfg := inMemory().config(h)
	discoverer := must(discovery.NewDiscoveryClientForConfig(cfg))(t)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discoverer))
	custom := custommetrics.NewForConfig(cfg, mapper, custommetrics.NewAvailableAPIsGetter(discoverer))
	kind := schema.GroupKind{Kind: "Pod"}
	got := must(custom.NamespacedMetrics("default").GetForObjects(kind, labels.Everything(), "qps", labels.Everything()))(t)
	if len(got.Items) != 1 || got.Items[0].DescribedObject.Name != "web" || got.Items[0].Value.String() != "7" || got.Items[0].Metric.Name != "qps" {
		t.Errorf("pods: %+v", got)
	}
	older := must(custommetrics.NewForVersionForConfig(cfg, mapper, schema.GroupVersion{Group: "custom.metrics.k8s.io", Version: "v1beta1"}))(t)
	if one := must(older.NamespacedMetrics("default").GetForObject(kind, "web", "qps", labels.Everything()))(t); one.Value.String() != "7" {
		t.Errorf("one pod: %+v", one)
	}
	if ns := must(custom.RootScopedMetrics().GetForObject(schema.GroupKind{Kind: "Namespace"}, "default", "qps", labels.Everything()))(t); ns.DescribedObject.Kind != "Namespace" {
		t.Errorf("a namespace: %+v", ns)
	}
	if node := must(custom.RootScopedMetrics().GetForObject(schema.GroupKind{Kind: "Node"}, "n1", "qps", labels.Everything()))(t); node.DescribedObject.Name != "n1" {
		t.Errorf("a node: %+v", node)
	}
	_, err := custom.NamespacedMetrics("default").GetForObjects(kind, labels.Everything(), "other", labels.Everything())
	wantStatus(t, err, http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the metric other for pods")
	_, err = custom.NamespacedMetrics("default").GetForObject(kind, "unknown", "qps", labels.Everything())
	wantStatus(t, err, http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the metric qps for pods unknown")

	external := must(externalmetrics.NewForConfig(cfg))(t)
	all := must(external.NamespacedMetrics("default").List("queue", labels.Everything()))(t)
	some := must(external.NamespacedMetrics("default").List("queue", labels.SelectorFromSet(labels.Set{"of": "web"})))(t)
	if len(all.Items) != 2 || len(some.Items) != 1 || some.Items[0].Value.String() != "30" || some.Items[0].MetricName != "queue" {
		t.Errorf("external: %+v, of web: %+v", all, some)
	}
}

// TestMetricsPaths tests missing objects, unsupported writes, and the form of
// responses.
func TestMetricsPaths(t *testing.T) {
	h := startMeasured(t)
	const (
		usage    = "/apis/metrics.k8s.io/v1beta1"
		custom   = "/apis/custom.metrics.k8s.io/v1beta2"
		external = "/apis/external.metrics.k8s.io/v1beta1"
	)
	for _, tt := range []struct {
		method, path string
		code         int
	}{
		{http.MethodGet, usage + "/pods", 200},
		{http.MethodGet, usage + "/namespaces/default/pods/web", 200},
		{http.MethodGet, usage + "/nodes/n1", 200},
		{http.MethodGet, usage + "/pods/web", 404},
		{http.MethodGet, usage + "/namespaces/default/pods/web/status", 404},
		{http.MethodGet, usage + "/services", 404},
		{http.MethodGet, usage + "/pods?watch=1", 405},
		{http.MethodGet, usage + "/pods?fieldSelector=spec.nodeName=n1", 400},
		{http.MethodPost, usage + "/namespaces/default/pods", 405},
		{http.MethodDelete, usage + "/nodes/n1", 405},
		{http.MethodPut, usage + "/nodes/n1", 405},
		{http.MethodPatch, usage + "/nodes/n1", 405},
		{http.MethodGet, custom + "/namespaces/default/pods/web/qps", 200},
		{http.MethodGet, custom + "/namespaces/default/pods/*/qps?metricLabelSelector=a%3Db", 404},
		{http.MethodGet, custom + "/namespaces/default/deployments.apps/none/qps", 404},
		{http.MethodGet, custom + "/namespaces/default/nothings/none/qps", 404},
		{http.MethodGet, custom + "/namespaces/default/nodes/n1/qps", 404},
		{http.MethodGet, custom + "/nodes/n1/qps", 200},
		{http.MethodGet, custom + "/pods/web/qps", 404},
		{http.MethodGet, custom + "/namespaces/default/pods/web", 404},
		{http.MethodGet, custom + "/namespaces/default/pods/*/qps?labelSelector=a%3Db%3Dc", 400},
		{http.MethodPost, custom + "/namespaces/default/pods/web/qps", 405},
		{http.MethodGet, external + "/namespaces/default/queue", 200},
		{http.MethodGet, external + "/queue", 404},
		{http.MethodDelete, external + "/namespaces/default/queue", 405},
	} {
		if got := h.send(tt.method, tt.path, ""); got.code != tt.code {
			t.Errorf("%s %s: %d, want %d: %s", tt.method, tt.path, got.code, tt.code, got.body)
		}
	}
	var table metav1.Table
	h.send(http.MethodGet, usage+"/pods", "", "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").into(t, &table)
	var names []string
	for _, c := range table.ColumnDefinitions {
		names = append(names, c.Name)
	}
	if diff := cmp.Diff([]string{"Name", "cpu", "memory", "Window"}, names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]any{"web", "150m", "3Mi", "15s"}, table.Rows[0].Cells); diff != "" {
		t.Error(diff)
	}
	if text := string(h.send(http.MethodGet, "/openapi/v3/apis/metrics.k8s.io/v1beta1", "").body); !strings.Contains(text, `"group":"metrics.k8s.io","kind":"PodMetrics"`) {
		t.Error("the OpenAPI document does not know the kind")
	}
	var resources metav1.APIResourceList
	h.mustSend(http.MethodGet, usage, "").into(t, &resources)
	if len(resources.APIResources) != 2 || strings.Join(resources.APIResources[1].Verbs, " ") != "get list" {
		t.Errorf("discovery: %+v", resources)
	}
}

// TestMetricNames checks that the discovery lists the existing metrics.
func TestMetricNames(t *testing.T) {
	h := startMeasured(t)
	for path, want := range map[string]string{
		"/apis/custom.metrics.k8s.io/v1beta2":    "configmaps/qps namespaces/qps pods/hits pods/qps",
		"/apis/custom.metrics.k8s.io/v1beta1":    "configmaps/qps namespaces/qps pods/hits pods/qps",
		"/apis/external.metrics.k8s.io/v1beta1/": "queue",
	} {
		var list metav1.APIResourceList
		h.mustSend(http.MethodGet, path, "").into(t, &list)
		var names []string
		for _, r := range list.APIResources {
			names = append(names, r.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// TestNoMetrics checks that without a source the groups are not served.
func TestNoMetrics(t *testing.T) {
	h := start(t)
	for _, path := range []string{"/apis/metrics.k8s.io", "/apis/metrics.k8s.io/v1beta1/pods", "/apis/custom.metrics.k8s.io/v1beta2/nodes/n1/qps"} {
		if got := h.send(http.MethodGet, path, ""); got.code != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.code)
		}
	}
}
