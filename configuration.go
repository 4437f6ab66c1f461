package minikcm

import (
	"context"

	"minikcm.dev/minikcm/apiserver"
)

// readConfiguration reads the files that configure encryption, authorization, audit, the
// serving certificate and the keys of tokens.
func (c *Cluster) readConfiguration(ctx context.Context) (err error) {
	if err := c.readServing(); err != nil {
		return err
	}
	if c.encryption, err = apiserver.OpenEncryption(ctx, c.opts.Storage.EncryptionConfig, "minikcm"); err != nil {
		return err
	}
	if c.opts.Security.AuthorizationConfig != "" {
		if c.authorization, err = apiserver.ReadAuthorizationConfig(c.opts.Security.AuthorizationConfig); err != nil {
			return err
		}
		c.opts.Security.AuthorizationModes = c.authorization.Types()
	}
	c.audit, err = apiserver.NewAuditor(c.opts.Security.Audit, c.clock, c.opts.Logger)
	return err
}
