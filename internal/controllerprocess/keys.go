package process

import (
	"errors"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers"
)

// TokenSigner returns, for a private key in PEM, the function that signs service account
// tokens for secrets.
type TokenSigner func(key []byte) (func(account *corev1.ServiceAccount, secret string) (string, error), error)

// readKeys reads the files that the flags name.
func (o *Options) readKeys(e *controllers.Env) error {
	settings := &o.Settings.SAController
	if settings.RootCAFile != "" {
		ca, err := os.ReadFile(settings.RootCAFile)
		if err != nil {
			return fmt.Errorf("reading --root-ca-file: %w", err)
		}
		e.RootCA = ca
	}
	if settings.ServiceAccountKeyFile == "" {
		return nil
	}
	key, err := os.ReadFile(settings.ServiceAccountKeyFile)
	if err != nil {
		return fmt.Errorf("reading --service-account-private-key-file: %w", err)
	}
	if o.Tokens == nil {
		return errors.New("this process cannot sign tokens")
	}
	if e.MintToken, err = o.Tokens(key); err != nil {
		return fmt.Errorf("--service-account-private-key-file: %w", err)
	}
	return nil
}
