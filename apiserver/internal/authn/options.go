package authn

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Options configure authentication, as the flags of kube-apiserver do. Files are read once,
// by New. The zero value adds nothing.
type Options struct {
	// ClientCAFile has further authorities of client certificates, in PEM.
	ClientCAFile string
	// RequestHeader describes a front proxy.
	RequestHeader RequestHeader
	// TokenAuthFile has static tokens: CSV records of token, user, UID and, optionally, the
	// quoted groups.
	TokenAuthFile string
	// BootstrapTokens accepts the tokens of the secrets of type bootstrap.kubernetes.io/token
	// in kube-system.
	BootstrapTokens bool
	// ConfigFile has an AuthenticationConfiguration. It excludes OIDC.
	ConfigFile string
	// OIDC describes one issuer of tokens.
	OIDC OIDC
	// Anonymous says whether requests without credentials are served, as system:anonymous;
	// nil: as ConfigFile says, or else yes.
	Anonymous *bool
	// Webhook authenticates tokens that no other authenticator knows.
	Webhook Webhook
}

// RequestHeader describes a front proxy. It is used if ClientCAFile is set.
type RequestHeader struct {
	// ClientCAFile has the authorities of the proxy's certificate, in PEM.
	ClientCAFile string
	// AllowedNames are the common names that the certificate may have; empty: any.
	AllowedNames []string
	// The headers that name the user, and the prefixes of the headers with extra fields.
	UsernameHeaders, UIDHeaders, GroupHeaders, ExtraHeadersPrefix []string
}

// OIDC describes one issuer of tokens. It is used if IssuerURL and ClientID are set.
type OIDC struct {
	IssuerURL, ClientID string
	// CAFile has the authorities of the issuer's certificate, in PEM; empty: the machine's
	// authorities.
	CAFile string
	// UsernameClaim defaults to sub. UsernamePrefix defaults to the issuer's URL and "#",
	// unless the claim is email; "-" means no prefix.
	UsernameClaim, UsernamePrefix string
	GroupsClaim, GroupsPrefix     string
	// SigningAlgs defaults to RS256.
	SigningAlgs    []string
	RequiredClaims map[string]string
}

// Webhook describes a webhook that reviews tokens. It is used if ConfigFile is set.
type Webhook struct {
	// ConfigFile is a kubeconfig whose cluster is the webhook.
	ConfigFile string
	// Version is the version of TokenReview to send; empty means v1beta1, as upstream.
	Version string
	// CacheTTL is for how long the answers are used, in real time; 0 means two minutes,
	// negative not at all.
	CacheTTL time.Duration
}

// Validate returns an error for options that exclude each other. It reads no files.
func (o *Options) Validate() error {
	anyOIDC := !reflect.ValueOf(o.OIDC).IsZero()
	switch {
	case o.ConfigFile != "" && anyOIDC:
		return errors.New("authentication-config file and oidc-* flags are mutually exclusive")
	case anyOIDC && (o.OIDC.IssuerURL == "" || o.OIDC.ClientID == ""):
		return errors.New("oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set")
	case o.Webhook.ConfigFile == "" && o.Webhook != Webhook{}:
		return errors.New("the version and the cache of a token webhook need its configuration: set --authentication-token-webhook-config-file")
	case o.Webhook.ConfigFile != "" && !slices.Contains([]string{"", "v1", "v1beta1"}, o.Webhook.Version):
		return fmt.Errorf("authentication-token-webhook-version %q is neither v1 nor v1beta1", o.Webhook.Version)
	}
	return o.RequestHeader.validate()
}

func (h *RequestHeader) validate() error {
	for _, list := range []struct {
		flag   string
		values []string
	}{
		{"requestheader-username-headers", h.UsernameHeaders},
		{"requestheader-group-headers", h.GroupHeaders},
		{"requestheader-extra-headers-prefix", h.ExtraHeadersPrefix},
		{"requestheader-allowed-names", h.AllowedNames},
		{"requestheader-uid-headers", h.UIDHeaders},
	} {
		if slices.ContainsFunc(list.values, func(v string) bool { return strings.TrimSpace(v) == "" }) {
			return fmt.Errorf("empty value in %q", list.flag)
		}
	}
	if len(h.UIDHeaders) > 0 && !slices.ContainsFunc(h.UIDHeaders, func(v string) bool { return strings.EqualFold(v, "X-Remote-Uid") }) {
		return errors.New("--requestheader-uid-headers is set without specifying the standard X-Remote-Uid header - API aggregation will not work")
	}
	if h.ClientCAFile == "" && !reflect.ValueOf(*h).IsZero() {
		return errors.New("the headers of a front proxy are ignored without the authority of its certificate: set --requestheader-client-ca-file")
	}
	return nil
}
