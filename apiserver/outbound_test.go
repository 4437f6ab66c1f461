package apiserver_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// hostileWebhook serves answers that no webhook should give.
func hostileWebhook(t *testing.T) registrationv1.WebhookClientConfig {
	t.Helper()
	block := []byte(strings.Repeat(" ", 1<<20))
	mux := http.NewServeMux()
	mux.HandleFunc("/endless", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/secret", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/secret", func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") })
	mux.HandleFunc("/error", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "internal-secret", http.StatusInternalServerError)
	})
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return registrationv1.WebhookClientConfig{URL: ptr.To(server.URL), CABundle: ca}
}

func TestHostileWebhooks(t *testing.T) {
	h := start(t)
	client, config := h.client(), hostileWebhook(t)
	selector := func(path string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"hooked": path}}
	}
	var hooks []registrationv1.ValidatingWebhook
	want := map[string]string{
		"endless":  "the answer has more than 16777216 bytes",
		"redirect": `the answer is "307 Temporary Redirect", and redirects are not followed`,
		"error":    `an error on the server ("500 Internal Server Error") has prevented the request from succeeding`,
	}
	for path := range want {
		hooks = append(hooks, registrationv1.ValidatingWebhook{
			Name: path + ".example.com", ClientConfig: at(config, "/"+path), Rules: rulesFor("configmaps", registrationv1.Create), ObjectSelector: selector(path),
			SideEffects: ptr.To(registrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		})
	}
	must(client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(h.ctx, &registrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "hostile"}, Webhooks: hooks,
	}, metav1.CreateOptions{}))(t)
	for path, text := range want {
		cm := configMap(path)
		cm.Labels = selector(path).MatchLabels
		_, err := client.CoreV1().ConfigMaps("default").Create(h.ctx, cm, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		switch {
		case err == nil:
			t.Errorf("the webhook %s was not called", path)
		case !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "internal-secret"):
			t.Errorf("the error is %v, want %s", err, text)
		}
	}
}
