package cellimits

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"

	"minikcm.dev/minikcm/internal/celtext"
)

// Limit limits all expressions in this process that use Kubernetes' base environment: rules of
// custom kinds, policies and conditions. It is called before any of them is compiled. Calls
// after the first have no effect.
//
// The base environment is cached by k8s.io/apiserver and cannot be passed to all of its
// users, so Limit changes the cached one.
var Limit = sync.OnceValue(func() error {
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	limited, err := base.Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: append(quantities(), celtext.Replace(), celtext.Join()), ProgramOptions: limitPatterns(),
	})
	if err != nil {
		return fmt.Errorf("limiting the functions of CEL expressions: %w", err)
	}
	*base = *limited
	return nil
})
