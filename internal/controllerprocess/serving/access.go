package serving

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiserverconfig "k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/path"
	"k8s.io/apiserver/pkg/authorization/union"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/kubernetes"
)

// The ConfigMap in which a cluster publishes the CA of its client certificates.
const (
	clientCANamespace = metav1.NamespaceSystem
	clientCAName      = "extension-apiserver-authentication"
	clientCAKey       = "client-ca-file"
)

// TTLs of the cached answers of TokenReviews and SubjectAccessReviews, as upstream.
const (
	tokenTTL      = 10 * time.Second
	accessTTL     = 10 * time.Second
	reviewTimeout = 10 * time.Second
	firstRetry    = 500 * time.Millisecond
)

// clientCA returns the CA of client certificates and the controller that keeps it up to
// date; nil if the cluster publishes none.
func (o *Options) clientCA(ctx context.Context, client kubernetes.Interface) (dynamiccertificates.CAContentProvider, dynamiccertificates.ControllerRunner, error) {
	if o.ClientCAFile != "" {
		file, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca-bundle", o.ClientCAFile)
		if err != nil {
			return nil, nil, fmt.Errorf("reading --client-ca-file: %w", err)
		}
		return file, file, nil
	}
	published, err := client.CoreV1().ConfigMaps(clientCANamespace).Get(ctx, clientCAName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || err == nil && published.Data[clientCAKey] == "" {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the CA of client certificates from ConfigMap %s/%s: %w", clientCANamespace, clientCAName, err)
	}
	followed, err := dynamiccertificates.NewDynamicCAFromConfigMapController("client-ca", clientCANamespace, clientCAName, clientCAKey, client)
	if err != nil {
		return nil, nil, fmt.Errorf("watching the CA of client certificates in ConfigMap %s/%s: %w", clientCANamespace, clientCAName, err)
	}
	return followed, followed, nil
}

// authentication returns the authenticator of requests.
func authentication(client kubernetes.Interface, ca dynamiccertificates.CAContentProvider) (authenticator.Request, error) {
	backoff := webhook.DefaultRetryBackoffWithInitialDelay(firstRetry)
	request, _, err := authenticatorfactory.DelegatingAuthenticatorConfig{
		Anonymous:                          &apiserverconfig.AnonymousAuthConfig{Enabled: true},
		TokenAccessReviewClient:            client.AuthenticationV1(),
		TokenAccessReviewTimeout:           reviewTimeout,
		WebhookRetryBackoff:                &backoff,
		CacheTTL:                           tokenTTL,
		ClientCertificateCAContentProvider: ca,
	}.New()
	if err != nil {
		return nil, fmt.Errorf("setting up the authentication of HTTPS clients: %w", err)
	}
	return request, nil
}

// authorization returns the authorizer of requests.
func (o *Options) authorization(client kubernetes.Interface) (authorizer.Authorizer, error) {
	open, err := path.NewAuthorizer(o.AlwaysAllowPaths)
	if err != nil {
		return nil, fmt.Errorf("--authorization-always-allow-paths: %w", err)
	}
	backoff := webhook.DefaultRetryBackoffWithInitialDelay(firstRetry)
	delegated, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: client.AuthorizationV1(), AllowCacheTTL: accessTTL, DenyCacheTTL: accessTTL, WebhookRetryBackoff: &backoff,
	}.New()
	if err != nil {
		return nil, fmt.Errorf("setting up the authorization of HTTPS clients: %w", err)
	}
	return union.New(
		union.NamedAuthorizer{AuthorizerName: "privileged", Authorizer: authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup)},
		union.NamedAuthorizer{AuthorizerName: "open", Authorizer: open},
		union.NamedAuthorizer{AuthorizerName: "delegated", Authorizer: delegated},
	)
}
