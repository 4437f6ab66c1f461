package certgen_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/minikcmtest"
)

// create creates the objects of a file.
func create(t *testing.T, c *minikcmtest.Cluster, file string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	client := dynamic.NewForConfigOrDie(c.Config())
	decoder := yaml.NewYAMLOrJSONDecoder(f, 4096)
	for {
		obj := &unstructured.Unstructured{}
		if err := decoder.Decode(obj); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		resource, _ := meta.UnsafeGuessKindToResource(obj.GroupVersionKind())
		if _, err := client.Resource(resource).Namespace(obj.GetNamespace()).Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
			t.Fatalf("creating %s/%s: %v", obj.GetKind(), obj.GetName(), err)
		}
	}
}

// wantComplete waits until a Job of the chart has succeeded.
func wantComplete(c *minikcmtest.Cluster, name string) {
	c.Eventually("job/"+name+" to complete", func(ctx context.Context, client kubernetes.Interface) error {
		job, err := client.BatchV1().Jobs("default").Get(ctx, name, metav1.GetOptions{})
		if err == nil && job.Status.Succeeded == 0 {
			err = fmt.Errorf("it has failed %d times", job.Status.Failed)
		}
		return err
	})
}

// A chart's Jobs make the certificate with which its webhook is called.
func TestChart(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	client := c.Client()
	create(t, c, "testdata/profile.yaml")
	create(t, c, "testdata/chart.yaml")
	wantComplete(c, "shop-admission-create")
	wantComplete(c, "shop-admission-patch")
	secret, err := client.CoreV1().Secrets("default").Get(t.Context(), "shop-admission", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	webhooks, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "shop", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	hook := webhooks.Webhooks[0]
	if string(hook.ClientConfig.CABundle) != string(secret.Data["ca"]) || *hook.FailurePolicy != admissionregistrationv1.Fail || hook.ClientConfig.Service == nil {
		t.Errorf("the webhook is %+v", hook)
	}
	crd, err := apiextensionsclient.NewForConfigOrDie(c.Config()).ApiextensionsV1().CustomResourceDefinitions().Get(t.Context(), "orders.shop.example.com", metav1.GetOptions{})
	if err != nil || string(crd.Spec.Conversion.Webhook.ClientConfig.CABundle) != string(secret.Data["ca"]) || crd.Spec.Conversion.Webhook.ClientConfig.Service == nil {
		t.Errorf("%v: the conversion is %+v", err, crd.Spec.Conversion)
	}

	server := refusing(t, secret)
	host := []byte(`{"metadata":{"annotations":{"minikcm.dev/host":"` + server.Listener.Addr().String() + `"}}}`)
	if _, err := client.CoreV1().Services("default").Patch(t.Context(), "shop-webhook", types.MergePatchType, host, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "order-1"}}, metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), "sold out") {
		t.Errorf("the webhook: %v", err)
	}
}

// refusing starts a webhook that refuses everything, with the certificate of a Secret.
func refusing(t *testing.T, secret *corev1.Secret) *httptest.Server {
	t.Helper()
	pair, err := tls.X509KeyPair(secret.Data["cert"], secret.Data["key"])
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{Message: "sold out"}}
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Error(err)
		}
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// Without the permission, the Job fails as the program of an image would.
func TestForbidden(t *testing.T) {
	t.Parallel()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	create(t, c, "testdata/profile.yaml")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "create"},
		Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{
			Name: "create", Image: "registry.example.com/webhook-certgen:v1.6.0", Args: []string{"create", "--host=a", "--namespace=default", "--secret-name=certs"},
		}}},
	}
	c.Eventually("the pod to be created", func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
		return err // as long as there is no service account
	})
	c.Eventually("the pod to fail", func(ctx context.Context, client kubernetes.Interface) error {
		pod, err := client.CoreV1().Pods("default").Get(ctx, "create", metav1.GetOptions{})
		if err == nil && pod.Status.Phase != corev1.PodFailed {
			err = fmt.Errorf("it is %s", pod.Status.Phase)
		}
		return err
	})
	out, err := c.Client().CoreV1().Pods("default").GetLogs("create", &corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil || !strings.Contains(string(out), `User "system:serviceaccount:default:default" cannot get resource "secrets"`) {
		t.Errorf("the log is %q, %v", out, err)
	}
}
