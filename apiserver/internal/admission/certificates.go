package admission

import (
	"context"

	certificatesv1 "k8s.io/api/certificates/v1"
)

// CertificateRequester sets the requesting user in a certificate request, overwriting
// the client's values. Upstream does the same, but not in an admission plugin.
type CertificateRequester struct{}

// Mutate implements Mutator.
func (CertificateRequester) Mutate(_ context.Context, a *Attributes) error {
	if a.Operation != Create || a.Subresource != "" || a.User == nil {
		return nil
	}
	request, ok := a.Object.(*certificatesv1.CertificateSigningRequest)
	if !ok {
		return nil
	}
	spec := &request.Spec
	spec.Username, spec.UID, spec.Groups, spec.Extra = a.User.Name, a.User.UID, a.User.Groups, nil
	for key, values := range a.User.Extra {
		if spec.Extra == nil {
			spec.Extra = map[string]certificatesv1.ExtraValue{}
		}
		spec.Extra[key] = values
	}
	return nil
}
