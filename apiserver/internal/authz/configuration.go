package authz

import (
	"fmt"
	"slices"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"

	"minikcm.dev/minikcm/apiserver/internal/configfile"
)

// Configuration is a valid AuthorizationConfiguration of any version of
// apiserver.config.k8s.io.
type Configuration struct {
	// Content is the document.
	Content []byte

	parsed   *apiserver.AuthorizationConfiguration
	compiler authorizationcel.Compiler
}

// Read reads a configuration from a file. types are the types of authorizers that it may
// name.
func Read(path string, types []string) (*Configuration, error) {
	content, err := configfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("reading the authorization configuration: %w", err)
	}
	c, err := Parse(content, types)
	if err != nil {
		return nil, fmt.Errorf("authorization configuration %s: %w", path, err)
	}
	return c, nil
}

// Parse parses a configuration, strictly, and validates it as upstream does.
func Parse(content []byte, types []string) (*Configuration, error) {
	parsed, err := configfile.Decode[*apiserver.AuthorizationConfiguration](content)
	if err != nil {
		return nil, fmt.Errorf("failed to load AuthorizationConfiguration from file: %w", err)
	}
	compiler := authorizationcel.NewDefaultCompiler()
	if errs := validation.ValidateAuthorizationConfiguration(compiler, nil, parsed, sets.New(types...), sets.New(string(apiserver.TypeWebhook))); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	var errs []error
	for i := range parsed.Authorizers {
		errs = append(errs, checkAuthorizer(&parsed.Authorizers[i]))
	}
	if err := utilerrors.NewAggregate(errs); err != nil {
		return nil, err
	}
	return &Configuration{Content: content, parsed: parsed, compiler: compiler}, nil
}

// checkAuthorizer returns an error for an authorizer that is valid, but not here.
func checkAuthorizer(a *apiserver.AuthorizerConfiguration) error {
	switch {
	case a.Type != apiserver.TypeWebhook:
		if name := strings.ToLower(string(a.Type)); a.Name != name {
			return fmt.Errorf("expected name %s for authorizer %s instead of %s", name, a.Type, a.Name)
		}
	case a.Webhook.ConnectionInfo.Type != apiserver.AuthorizationWebhookConnectionInfoTypeKubeConfigFile:
		return fmt.Errorf("authorizer %s: the API server has no configuration of a pod: use the connectionInfo type KubeConfigFile instead of %s", a.Name, a.Webhook.ConnectionInfo.Type)
	}
	return nil
}

// Types returns the types of the authorizers in their order, each once.
func (c *Configuration) Types() []string {
	var types []string
	for i := range c.parsed.Authorizers {
		if t := string(c.parsed.Authorizers[i].Type); !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	return types
}
