package outbound

import (
	"net/http"

	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
)

// Kubeconfig reads the configuration of a webhook's calls from a kubeconfig, whose cluster
// is the webhook, and adds the limits of Resolver.
func Kubeconfig(path string) (*rest.Config, error) {
	config, err := webhook.LoadKubeconfig(path, nil)
	if err != nil {
		return nil, err
	}
	config.Timeout = Timeout
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return Limit(next, MaxAnswerBytes, "webhook") })
	return config, nil
}
