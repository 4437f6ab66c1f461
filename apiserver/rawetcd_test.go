package apiserver_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/internal/storetest"
	"minikcm.dev/minikcm/store"
)

// startOnEtcd returns a server with its own etcd, and a client of that etcd.
func startOnEtcd(t *testing.T) (*harness, *clientv3.Client) {
	t.Helper()
	endpoint := storetest.StartEtcd(t, storetest.EtcdOptions{})
	raw, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw.Close() })
	s, err := store.DialEtcd(t.Context(), store.EtcdOptions{Endpoints: []string{endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	return start(t, func(opts *apiserver.Options) { opts.Store = s }), raw
}

// rawObject reads a key as a program that uses etcd directly with client-go's codecs.
func rawObject(t *testing.T, etcd *clientv3.Client, key string) (runtime.Object, schema.GroupVersionKind) {
	t.Helper()
	response, err := etcd.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if len(response.Kvs) != 1 {
		t.Fatalf("there is no key %s", key)
	}
	if !bytes.HasPrefix(response.Kvs[0].Value, []byte("k8s\x00")) {
		t.Errorf("%s is no protobuf: %.40q", key, response.Kvs[0].Value)
	}
	obj, kind, err := clientscheme.Codecs.UniversalDeserializer().Decode(response.Kvs[0].Value, nil, nil)
	if err != nil {
		t.Fatalf("decoding %s: %v", key, err)
	}
	return obj, *kind
}

// TestRawEtcd reads from etcd what the server has written, and vice versa, with
// client-go's codecs.
func TestRawEtcd(t *testing.T) {
	h, etcd := startOnEtcd(t)
	client := h.client()
	serializer := protobuf.NewSerializer(clientscheme.Scheme, clientscheme.Scheme)
	write := func(key string, kind schema.GroupVersionKind, obj runtime.Object) {
		t.Helper()
		obj.GetObjectKind().SetGroupVersionKind(kind)
		var data bytes.Buffer
		if err := serializer.Encode(obj, &data); err != nil {
			t.Fatal(err)
		}
		if _, err := etcd.Put(t.Context(), key, data.String()); err != nil {
			t.Fatal(err)
		}
	}
	same := func(key string, kind schema.GroupVersionKind, served metav1.Object) {
		t.Helper()
		stored, storedKind := rawObject(t, etcd, key)
		if storedKind != kind {
			t.Errorf("%s is stored as %s, want %s", key, storedKind, kind)
		}
		if revision := stored.(metav1.Object).GetResourceVersion(); revision != "" {
			t.Errorf("%s holds the resourceVersion %s", key, revision)
		}
		served.SetResourceVersion("")
		stored.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		if diff := cmp.Diff(served, stored.(metav1.Object)); diff != "" {
			t.Errorf("%s (-served +stored):\n%s", key, diff)
		}
	}

	deployment, err := client.AppsV1().Deployments("default").Create(h.ctx, webDeployment(), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	same("/registry/deployments/default/web", appsv1.SchemeGroupVersion.WithKind("Deployment"), deployment)
	service, err := client.CoreV1().Services("default").Create(h.ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	same("/registry/services/specs/default/web", corev1.SchemeGroupVersion.WithKind("Service"), service)

	// A scaler that is created as v1 is stored as v2.
	scaler := &autoscalingv1.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: autoscalingv1.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv1.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
		MaxReplicas:    3, TargetCPUUtilizationPercentage: ptr.To[int32](50),
	}}
	if _, err := client.AutoscalingV1().HorizontalPodAutoscalers("default").Create(h.ctx, scaler, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	second, err := client.AutoscalingV2().HorizontalPodAutoscalers("default").Get(h.ctx, "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	same("/registry/horizontalpodautoscalers/default/web", autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), second)

	// Objects that other programs put into etcd are served.
	deployment.Name, deployment.Labels = "foreign", map[string]string{"written": "raw"}
	write("/registry/deployments/default/foreign", appsv1.SchemeGroupVersion.WithKind("Deployment"), deployment)
	got, err := client.AppsV1().Deployments("default").Get(h.ctx, "foreign", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	same("/registry/deployments/default/foreign", appsv1.SchemeGroupVersion.WithKind("Deployment"), got)
	list, err := client.AppsV1().Deployments("default").List(h.ctx, metav1.ListOptions{LabelSelector: "written=raw"})
	if err != nil || len(list.Items) != 1 {
		t.Errorf("a list has %v, %v", list, err)
	}
	write("/registry/clustertrustbundles/foreign", certificatesv1beta1.SchemeGroupVersion.WithKind("ClusterTrustBundle"),
		&certificatesv1beta1.ClusterTrustBundle{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}, Spec: certificatesv1beta1.ClusterTrustBundleSpec{TrustBundle: "pem"}})
	bundle, err := client.CertificatesV1().ClusterTrustBundles().Get(h.ctx, "foreign", metav1.GetOptions{})
	if err != nil || bundle.Spec.TrustBundle != "pem" {
		t.Errorf("a ClusterTrustBundle that was stored as v1beta1 is %v, %v", bundle, err)
	}
	// JSON is read too, which upstream's --storage-media-type can select.
	data, err := json.Marshal(&corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: "json", Namespace: "default"}, Data: map[string]string{"a": "b"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := etcd.Put(t.Context(), "/registry/configmaps/default/json", string(data)); err != nil {
		t.Fatal(err)
	}
	config, err := client.CoreV1().ConfigMaps("default").Get(h.ctx, "json", metav1.GetOptions{})
	if err != nil || config.Data["a"] != "b" {
		t.Errorf("a ConfigMap that was stored as JSON is %v, %v", config, err)
	}
}

func webDeployment() *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
			},
		},
	}
}
