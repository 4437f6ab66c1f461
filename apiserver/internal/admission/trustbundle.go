package admission

import (
	"context"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"

	"minikcm.dev/minikcm/internal/auth"
)

// ClusterTrustBundleAttest allows a user to write the trust bundles of a signer only with
// the permission to attest for the signer (KEP-3257).
type ClusterTrustBundleAttest struct{ Authorizer auth.Authorizer }

// Check implements Checker.
func (p ClusterTrustBundleAttest) Check(ctx context.Context, a *Attributes) error {
	bundle, ok := a.Object.(*certificatesv1.ClusterTrustBundle)
	if !ok || bundle.Spec.SignerName == "" || a.Operation == Update && ChangesOwnersOnly(a.Object, a.Old) {
		return nil
	}
	if mayUseSigner(ctx, p.Authorizer, a.User, "attest", bundle.Spec.SignerName) {
		return nil
	}
	return denied(a, fmt.Errorf("user not permitted to attest for signerName %q", bundle.Spec.SignerName))
}
