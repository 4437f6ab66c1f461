package authn

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"

	"minikcm.dev/minikcm/apiserver/internal/configfile"
)

// useConfiguration adds the issuers and the rule for anonymous requests, of the file or of
// the other options.
func (a *Authenticators) useConfiguration(opts *Options) error {
	if opts.ConfigFile == "" && opts.OIDC.IssuerURL == "" {
		a.anonymous.never = a.refusesAnonymous(opts)
		return nil
	}
	config, algorithms, err := a.configurationOf(opts)
	if err != nil {
		return err
	}
	switch {
	case config.Anonymous != nil && opts.Anonymous != nil:
		return field.Forbidden(field.NewPath("anonymous"), "--anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file")
	case config.Anonymous != nil:
		a.anonymous = newAnonymousRule(config.Anonymous)
	default:
		a.anonymous.never = a.refusesAnonymous(opts)
	}
	a.file.anonymous = config.Anonymous
	issuers, err := a.newIssuers(config, algorithms)
	if err != nil {
		return err
	}
	a.issuers = &currentIssuers{}
	a.issuers.now.Store(issuers)
	a.after = append(a.after, a.issuers)
	a.closers = append(a.closers, func() { a.issuers.now.Load().close() })
	return nil
}

// refusesAnonymous reports whether requests without credentials are refused if no
// configuration has a rule for them.
func (a *Authenticators) refusesAnonymous(opts *Options) bool {
	return a.deps.RefuseAnonymous || opts.Anonymous != nil && !*opts.Anonymous
}

// configurationOf returns the configuration that the options describe, and the algorithms
// that tokens may be signed with.
func (a *Authenticators) configurationOf(opts *Options) (*apiserver.AuthenticationConfiguration, []string, error) {
	if opts.ConfigFile != "" {
		a.file.path = opts.ConfigFile
		var config *apiserver.AuthenticationConfiguration
		content, err := configfile.Read(opts.ConfigFile)
		if err == nil {
			a.file.content = content
			config, err = configfile.Decode[*apiserver.AuthenticationConfiguration](content)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("failed to load authentication configuration from file %q: %w", opts.ConfigFile, err)
		}
		return config, oidc.AllValidSigningAlgorithms(), nil
	}
	issuer, err := opts.OIDC.issuer()
	if err != nil {
		return nil, nil, err
	}
	return &apiserver.AuthenticationConfiguration{JWT: []apiserver.JWTAuthenticator{*issuer}}, opts.OIDC.SigningAlgs, nil
}

// issuer returns the issuer as a configuration describes it.
func (o *OIDC) issuer() (*apiserver.JWTAuthenticator, error) {
	claim := o.UsernameClaim
	if claim == "" {
		claim = "sub"
	}
	prefix := o.UsernamePrefix
	switch {
	case prefix == "-":
		prefix = ""
	case prefix == "" && claim != "email":
		prefix = o.IssuerURL + "#"
	}
	issuer := &apiserver.JWTAuthenticator{
		Issuer:        apiserver.Issuer{URL: o.IssuerURL, Audiences: []string{o.ClientID}},
		ClaimMappings: apiserver.ClaimMappings{Username: apiserver.PrefixedClaimOrExpression{Claim: claim, Prefix: &prefix}},
	}
	if o.GroupsClaim != "" {
		issuer.ClaimMappings.Groups = apiserver.PrefixedClaimOrExpression{Claim: o.GroupsClaim, Prefix: &o.GroupsPrefix}
	}
	if o.CAFile != "" {
		trusted, err := readAuthorities("oidc-ca-file", o.CAFile)
		if err != nil {
			return nil, err
		}
		issuer.Issuer.CertificateAuthority = string(trusted.pem)
	}
	for _, claim := range slices.Sorted(maps.Keys(o.RequiredClaims)) {
		issuer.ClaimValidationRules = append(issuer.ClaimValidationRules, apiserver.ClaimValidationRule{Claim: claim, RequiredValue: o.RequiredClaims[claim]})
	}
	return issuer, nil
}
