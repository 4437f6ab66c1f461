package apiserver_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/apiserver/internal/authn"
	"minikcm.dev/minikcm/apiserver/internal/encryption"
	"minikcm.dev/minikcm/store"
)

// replaceFile replaces a file in one step, as editors do.
func replaceFile(t testing.TB, path, content string) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path+".new", []byte(content), 0o600), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
}

// reloads returns how often a configuration was reloaded with a status, by the metrics.
func (h *harness) reloads(configuration, status string) int {
	h.t.Helper()
	count := 0
	for line := range strings.Lines(string(h.raw(h.server.Config("tester", "system:masters"), "GET", "/metrics", "").body)) {
		if strings.HasPrefix(line, "apiserver_"+configuration+"_config_controller_automatic_reloads_total{") && strings.Contains(line, `status="`+status+`"`) {
			if _, err := fmt.Sscan(line[strings.LastIndex(line, " "):], &count); err != nil {
				h.t.Error(err)
			}
		}
	}
	return count
}

// wantReloads waits until a configuration was reloaded so often.
func (h *harness) wantReloads(t *testing.T, configuration, status string, want int) {
	t.Helper()
	eventually(t, h, "reloading the "+configuration+" configuration", func() error {
		if got := h.reloads(configuration, status); got != want {
			return fmt.Errorf("%d reloads with the status %s, want %d", got, status, want)
		}
		return nil
	})
}

// withAuthorizationConfig is an option of start: the file of an AuthorizationConfiguration.
func withAuthorizationConfig(t testing.TB, path string) func(*apiserver.Options) {
	t.Helper()
	config := must(apiserver.ReadAuthorizationConfig(path))(t)
	return func(o *apiserver.Options) { o.AuthorizationConfig, o.AuthorizationConfigFile = config, path }
}

const authorizationHead = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n"

// askedWebhook is an authorizer of an AuthorizationConfiguration.
func askedWebhook(name, kubeconfig, failurePolicy, conditions string) string {
	return fmt.Sprintf(`- type: Webhook
  name: %s
  webhook:
    timeout: 3s
    authorizedTTL: 60s
    unauthorizedTTL: 60s
    cacheUnauthorizedRequests: false
    subjectAccessReviewVersion: v1
    matchConditionSubjectAccessReviewVersion: v1
    failurePolicy: %s
    connectionInfo: {type: KubeConfigFile, kubeConfigFile: %s}
    matchConditions: [%s]
`, name, failurePolicy, kubeconfig, conditions)
}

// TestAuthorizationConfig asks two webhooks, each about the requests that match its
// conditions, and RBAC between them.
func TestAuthorizationConfig(t *testing.T) {
	var guarded, all atomic.Int32
	guard := startWebhook(t, reviewing(t, &guarded, func(r *authorizationv1.SubjectAccessReview) {
		r.Status.Denied, r.Status.Reason = r.Spec.User != "jane", "only jane reads secrets"
	}))
	last := startWebhook(t, reviewing(t, &all, func(r *authorizationv1.SubjectAccessReview) {
		a := r.Spec.ResourceAttributes
		r.Status.Allowed = a != nil && a.Resource == "configmaps" && a.FieldSelector != nil && a.FieldSelector.Requirements[0].Values[0] == "x" &&
			a.LabelSelector != nil && a.LabelSelector.Requirements[0].Key == "app"
	}))
	path := fileOf(t, "authorization.yaml", []byte(authorizationHead+
		askedWebhook("guard", guard, "Deny", `{expression: "has(request.resourceAttributes)"}, {expression: "request.resourceAttributes.resource == 'secrets'"}, {expression: "!('system:masters' in request.groups)"}`)+
		"- {type: Node, name: node}\n- {type: RBAC, name: rbac}\n"+askedWebhook("last", last, "NoOpinion", "")))
	h := start(t, withAuthorizationConfig(t, path))
	all.Store(0)
	joe := h.server.Config("joe")
	const maps = "/api/v1/namespaces/default/configmaps"
	wantReply(t, h.raw(joe, "GET", "/api/v1/namespaces/default/secrets", ""), 403, metav1.StatusReasonForbidden, "only jane reads secrets")
	wantReply(t, h.raw(joe, "GET", maps, ""), 403, metav1.StatusReasonForbidden, `User "joe" cannot list resource "configmaps"`)
	if got := h.raw(joe, "GET", maps+"?fieldSelector=metadata.name=x&labelSelector=app=y", ""); got.code != 200 {
		t.Errorf("with selectors: %d %s", got.code, got.body)
	}
	if guarded.Load() != 1 || all.Load() != 2 {
		t.Errorf("the webhooks were called %d and %d times, want once and twice", guarded.Load(), all.Load())
	}
	// Neither the administrator nor RBAC need the webhooks.
	if got := h.send("GET", "/api/v1/namespaces/default/secrets", ""); got.code != 200 || guarded.Load() != 1 {
		t.Errorf("%d %s, %d calls", got.code, got.body, guarded.Load())
	}
	if got := h.raw(joe, "GET", "/version", ""); got.code != 200 || all.Load() != 2 {
		t.Errorf("%d %s, %d calls", got.code, got.body, all.Load())
	}
}

// TestAuthorizationFailurePolicy has a webhook that nothing answers, and a condition that
// fails.
func TestAuthorizationFailurePolicy(t *testing.T) {
	path := startWebhook(t, reviewing(t, new(atomic.Int32), func(*authorizationv1.SubjectAccessReview) {}))
	const fails = `{expression: "request.resourceAttributes.namespace == 'x'"}` // a path has none
	for _, test := range []struct {
		policy string
		code   int
	}{{"NoOpinion", 200}, {"Deny", 500}} {
		h := start(t, withAuthorizationConfig(t, fileOf(t, "a.yaml", []byte(authorizationHead+askedWebhook("w", path, test.policy, fails)+"- {type: RBAC, name: rbac}\n"))))
		if got := h.raw(h.server.Config("joe"), "GET", "/version", ""); got.code != test.code {
			t.Errorf("%s: %d %s", test.policy, got.code, got.body)
		}
	}
}

// TestReloadAuthorization changes the file while the server runs.
func TestReloadAuthorization(t *testing.T) {
	const rbac, node = "- {type: RBAC, name: rbac}\n", "- {type: Node, name: node}\n"
	path := fileOf(t, "authorization.yaml", []byte(authorizationHead+rbac))
	h := start(t, withAuthorizationConfig(t, path))
	joe := h.server.Config("joe")
	const maps = "/api/v1/namespaces/default/configmaps"
	wantReply(t, h.raw(joe, "GET", maps, ""), 403, metav1.StatusReasonForbidden, `User "joe" cannot`)
	replaceFile(t, path, authorizationHead+rbac+"- {type: AlwaysAllow, name: alwaysallow}\n")
	h.wantReloads(t, "authorization", "success", 1)
	if got := h.raw(joe, "GET", maps, ""); got.code != 200 {
		t.Errorf("%d %s", got.code, got.body)
	}
	for i, bad := range []string{
		"", "rubbish", authorizationHead, // nothing
		authorizationHead + "- {type: AlwaysAllow, name: alwaysallow}\n",              // RBAC is missing
		authorizationHead + rbac + node,                                               // Node was not there
		authorizationHead + rbac + askedWebhook("w", "/missing", "NoOpinion", ""),     // no kubeconfig
		authorizationHead + rbac + askedWebhook("w", path, "NoOpinion", ""),           // no kubeconfig either
		authorizationHead + rbac + askedWebhook("w", path, "Deny", `{expression: 1}`), // no condition
	} {
		replaceFile(t, path, bad)
		h.wantReloads(t, "authorization", "failure", i+1)
	}
	if got := h.raw(joe, "GET", maps, ""); got.code != 200 {
		t.Errorf("after bad configurations: %d %s", got.code, got.body)
	}
	replaceFile(t, path, authorizationHead+rbac)
	h.wantReloads(t, "authorization", "success", 2)
	wantReply(t, h.raw(joe, "GET", maps, ""), 403, metav1.StatusReasonForbidden, `User "joe" cannot`)
}

func TestAuthorizationConfigErrors(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"empty":         {"", "empty config data"},
		"another kind":  {"apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n", "expected AuthorizationConfiguration, got *apiserver.AuthenticationConfiguration"},
		"unknown field": {"apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizer: []\n", `unknown field "authorizer"`},
		"no authorizer": {authorizationHead, "authorizers: Required value: at least one authorization mode must be defined"},
		"unknown type":  {authorizationHead + "- {type: Foo, name: foo}\n", `authorizers[0].type: Unsupported value: "Foo": supported values: "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook"`},
		"twice":         {authorizationHead + "- {type: RBAC, name: rbac}\n- {type: RBAC, name: rbac}\n", `authorizers[1].type: Duplicate value: "RBAC"`},
		"another name":  {authorizationHead + "- {type: RBAC, name: roles}\n", "expected name rbac for authorizer RBAC instead of roles"},
		"no webhook":    {authorizationHead + "- {type: Webhook, name: w}\n", "authorizers[0].webhook: Required value: required when type=Webhook"},
		"in a cluster":  {authorizationHead + strings.Replace(askedWebhook("w", "/x", "Deny", ""), "type: KubeConfigFile, kubeConfigFile: /x", "type: InClusterConfig", 1), "use the connectionInfo type KubeConfigFile instead of InClusterConfig"},
		"a condition":   {authorizationHead + askedWebhook("w", "/x", "Deny", `{expression: "request.foo"}`), "undefined field 'foo'"},
		"aliases":       {"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g,*g,*g,*g,*g,*g,*g]\n", "aliases"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := apiserver.ReadAuthorizationConfig(fileOf(t, "a.yaml", []byte(test.text)))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v\nwant %s", err, test.want)
			}
		})
	}
}

// TestReloadIssuers replaces the issuer of tokens, and then the configuration by others that
// are not valid.
func TestReloadIssuers(t *testing.T) {
	first, second := startIssuer(t), startIssuer(t)
	opts := first.configured(plainMapping)
	h := start(t, allowAll, authenticating(opts))
	h.known(first.sign(nil))
	next := string(must(os.ReadFile(second.configured(plainMapping).ConfigFile))(t))
	replaceFile(t, opts.ConfigFile, next)
	h.wantReloads(t, "authentication", "success", 1)
	if got := h.review(second.sign(nil)); !got.Authenticated {
		t.Errorf("the new issuer's token: %+v", got)
	}
	if got := h.review(first.sign(nil)); got.Authenticated {
		t.Errorf("the former issuer's token: %+v", got)
	}
	for i, bad := range []string{"rubbish", strings.Replace(next, "jwt:", "jwts:", 1), next + "anonymous: {enabled: true}\n"} {
		replaceFile(t, opts.ConfigFile, bad)
		h.wantReloads(t, "authentication", "failure", i+1)
	}
	if got := h.review(second.sign(nil)); !got.Authenticated {
		t.Errorf("after bad configurations: %+v", got)
	}
	replaceFile(t, opts.ConfigFile, "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n")
	h.wantReloads(t, "authentication", "success", 2)
	if got := h.review(second.sign(nil)); got.Authenticated {
		t.Errorf("without issuers: %+v", got)
	}
}

// TestReloadEncryption puts another key first while the server runs.
func TestReloadEncryption(t *testing.T) {
	memory := store.NewMemory()
	const a, b = "aesgcm: {keys: [{name: a, secret: " + keyA + "}]}", "secretbox: {keys: [{name: b, secret: " + keyB + "}]}"
	path := encryptionFile(t, "secrets", a, "identity: {}")
	keys := must(encryption.Open(t.Context(), path, "test"))(t)
	t.Cleanup(keys.Close)
	h := start(t, func(o *apiserver.Options) { o.Store, o.Encryption, o.ReloadEncryption = memory, keys, true })
	createSecret(t, h, "first")
	replaceFile(t, path, string(must(os.ReadFile(encryptionFile(t, "secrets", b, a)))(t)))
	h.wantReloads(t, "encryption", "success", 1)
	createSecret(t, h, "second")
	for name, prefix := range map[string]string{"first": "k8s:enc:aesgcm:v1:a:", "second": "k8s:enc:secretbox:v1:b:"} {
		if got := rawValue(t, memory, "/registry/secrets/default/"+name); !strings.HasPrefix(string(got), prefix) {
			t.Errorf("%s is stored as %.40q", name, got)
		}
		must(secretsOf(t, h).Get(h.ctx, name, metav1.GetOptions{}))(t)
	}
	replaceFile(t, path, "rubbish")
	h.wantReloads(t, "encryption", "failure", 1)
	createSecret(t, h, "third")
	if got := rawValue(t, memory, "/registry/secrets/default/third"); !strings.HasPrefix(string(got), "k8s:enc:secretbox:v1:b:") {
		t.Errorf("after a bad configuration: %.40q", got)
	}
}

// TestAlwaysAllowIsNotForAnonymous makes requests without credentials with the mode
// AlwaysAllow, which turns them off unless the AuthenticationConfiguration has a rule.
func TestAlwaysAllowIsNotForAnonymous(t *testing.T) {
	yes := true
	for name, opts := range map[string]authn.Options{"": {}, "asked for": {Anonymous: &yes}} {
		h := start(t, allowAll, authenticating(opts))
		if got := h.raw(h.asClient(nil), "GET", "/version", ""); got.code != 401 {
			t.Errorf("%s: %d %s", name, got.code, got.body)
		}
	}
	config := fileOf(t, "a.yaml", []byte("apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\nanonymous: {enabled: true}\n"))
	h := start(t, allowAll, authenticating(authn.Options{ConfigFile: config}))
	if got := h.raw(h.asClient(nil), "GET", "/version", ""); got.code != 200 {
		t.Errorf("with a rule: %d %s", got.code, got.body)
	}
}
