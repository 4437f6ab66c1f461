package main

import (
	"strings"
	"time"

	"github.com/spf13/pflag"

	"minikcm.dev/minikcm"
)

// authFlags configure how users authenticate. They have kube-apiserver's names.
type authFlags struct {
	flags     *pflag.FlagSet
	auth      minikcm.Authentication
	anonymous bool
	oidc      minikcm.TokenIssuer
	webhook   minikcm.TokenWebhook
	reviewer  minikcm.AuthorizationWebhook
}

func (f *authFlags) register(flags *pflag.FlagSet) {
	f.flags = flags
	flags.StringVar(&f.auth.ClientCAFile, "client-ca-file", "", "file of further authorities of client certificates, in PEM; those of the cluster's own authority are always accepted")
	flags.StringVar(&f.auth.TokenAuthFile, "token-auth-file", "", "CSV file of static tokens: token,user,UID and, optionally, \"group1,group2\"")
	flags.BoolVar(&f.auth.BootstrapTokens, "enable-bootstrap-token-auth", false, "accept bootstrap tokens: those of Secrets of type bootstrap.kubernetes.io/token in kube-system")
	flags.BoolVar(&f.anonymous, "anonymous-auth", true, "serve requests without credentials, as the user system:anonymous in the group system:unauthenticated")
	flags.StringVar(&f.auth.ConfigFile, "authentication-config", "", "file with an AuthenticationConfiguration: issuers of JSON web tokens, and the paths of anonymous requests. It excludes the --oidc flags and, if it has the latter, --anonymous-auth")
	f.registerFrontProxy(flags)
	f.registerIssuer(flags)
	flags.StringVar(&f.webhook.ConfigFile, "authentication-token-webhook-config-file", "", "kubeconfig whose cluster is a webhook that reviews tokens")
	flags.StringVar(&f.webhook.Version, "authentication-token-webhook-version", "v1beta1", "version of authentication.k8s.io TokenReview to send to the webhook: v1 or v1beta1")
	flags.DurationVar(&f.webhook.CacheTTL, "authentication-token-webhook-cache-ttl", 2*time.Minute, "how long to use the answers of the webhook, in real time")
	flags.StringVar(&f.reviewer.ConfigFile, "authorization-webhook-config-file", "", "kubeconfig whose cluster is the webhook that --authorization-mode=...,Webhook asks")
	flags.StringVar(&f.reviewer.Version, "authorization-webhook-version", "v1beta1", "version of authorization.k8s.io SubjectAccessReview to send to the webhook: v1 or v1beta1")
	flags.DurationVar(&f.reviewer.AuthorizedTTL, "authorization-webhook-cache-authorized-ttl", 5*time.Minute, "how long to use the webhook's answers that allow, in real time")
	flags.DurationVar(&f.reviewer.UnauthorizedTTL, "authorization-webhook-cache-unauthorized-ttl", 30*time.Second, "how long to use the webhook's answers that do not allow, in real time")
}

func (f *authFlags) registerFrontProxy(flags *pflag.FlagSet) {
	proxy := &f.auth.RequestHeader
	flags.StringVar(&proxy.ClientCAFile, "requestheader-client-ca-file", "", "file of the authorities, in PEM, of the client certificate of a front proxy, which names users in headers")
	flags.StringSliceVar(&proxy.AllowedNames, "requestheader-allowed-names", nil, "common names that the front proxy's certificate may have (default any)")
	flags.StringSliceVar(&proxy.UsernameHeaders, "requestheader-username-headers", nil, "headers in which the front proxy names the user, such as X-Remote-User")
	flags.StringSliceVar(&proxy.UIDHeaders, "requestheader-uid-headers", nil, "headers with the user's UID, such as X-Remote-Uid")
	flags.StringSliceVar(&proxy.GroupHeaders, "requestheader-group-headers", nil, "headers with the user's groups, such as X-Remote-Group")
	flags.StringSliceVar(&proxy.ExtraHeadersPrefix, "requestheader-extra-headers-prefix", nil, "prefixes of the headers with extra fields of the user, such as X-Remote-Extra-")
}

func (f *authFlags) registerIssuer(flags *pflag.FlagSet) {
	flags.StringVar(&f.oidc.IssuerURL, "oidc-issuer-url", "", "URL (https) of an OpenID Connect issuer whose tokens are accepted")
	flags.StringVar(&f.oidc.ClientID, "oidc-client-id", "", "audience that the issuer's tokens must have")
	flags.StringVar(&f.oidc.CAFile, "oidc-ca-file", "", "file of the authorities of the issuer's certificate, in PEM (default those of the machine)")
	flags.StringVar(&f.oidc.UsernameClaim, "oidc-username-claim", "sub", "claim with the user's name")
	flags.StringVar(&f.oidc.UsernamePrefix, "oidc-username-prefix", "", "prefix of user names, - for none (default the issuer's URL and #, unless the claim is email)")
	flags.StringVar(&f.oidc.GroupsClaim, "oidc-groups-claim", "", "claim with the user's groups, a string or a list of strings")
	flags.StringVar(&f.oidc.GroupsPrefix, "oidc-groups-prefix", "", "prefix of the groups")
	flags.StringSliceVar(&f.oidc.SigningAlgs, "oidc-signing-algs", []string{"RS256"}, "algorithms that tokens may be signed with: RS256, RS384, RS512, ES256, ES384, ES512, PS256, PS384, PS512")
	flags.StringToStringVar(&f.oidc.RequiredClaims, "oidc-required-claim", nil, "claim=value that tokens must have; can be repeated")
}

// authorizationWebhook returns the webhook that the flags describe.
func (f *authFlags) authorizationWebhook() minikcm.AuthorizationWebhook {
	if f.reviewer.ConfigFile == "" {
		return minikcm.AuthorizationWebhook{}
	}
	hook := f.reviewer
	hook.AuthorizedTTL, hook.UnauthorizedTTL = zeroIsNone(hook.AuthorizedTTL), zeroIsNone(hook.UnauthorizedTTL)
	return hook
}

// zeroIsNone returns the option for a flag whose 0 means not to keep answers.
func zeroIsNone(ttl time.Duration) time.Duration {
	if ttl == 0 {
		return -1
	}
	return ttl
}

// options returns the options that the flags describe. Defaults of a part that is not
// configured are left out: it adds nothing to the server.
func (f *authFlags) options() (minikcm.Authentication, error) {
	opts := f.auth
	if f.flags.Changed("anonymous-auth") {
		opts.Anonymous = &f.anonymous
	}
	f.flags.Visit(func(flag *pflag.Flag) {
		switch {
		case strings.HasPrefix(flag.Name, "oidc-"):
			opts.OIDC = f.oidc
		case strings.HasPrefix(flag.Name, "authentication-token-webhook-"):
			opts.Webhook = f.webhook
		}
	})
	if opts.Webhook.ConfigFile != "" {
		opts.Webhook.CacheTTL = zeroIsNone(f.webhook.CacheTTL)
	}
	if err := opts.Validate(); err != nil {
		return opts, badInput{err}
	}
	return opts, nil
}
