package apiserver

import (
	"context"

	"minikcm.dev/minikcm/apiserver/internal/reload"
)

// metricsIdentity names this server in the metrics of configuration files, which have its hash.
const metricsIdentity = "minikcm"

// configFile is a configuration file, the content that is in effect, and the function that puts
// other content into effect.
type configFile struct {
	name    string
	path    string
	content []byte
	apply   func(ctx context.Context, content []byte) error
}

// followFiles begins to follow the configuration files that kube-apiserver follows, too.
func (s *Server) followFiles() error {
	if s.chain != nil && s.opts.AuthorizationConfigFile != "" {
		if err := s.followFile(configFile{"authorization", s.opts.AuthorizationConfigFile, s.opts.AuthorizationConfig.Content, s.chain.Reload}); err != nil {
			return err
		}
	}
	if path, content := s.authn.ConfigFile(); path != "" {
		if err := s.followFile(configFile{"authentication", path, content, s.authn.Reload}); err != nil {
			return err
		}
	}
	if keys := s.opts.Encryption; keys != nil && s.opts.ReloadEncryption {
		return s.followFile(configFile{"encryption", keys.Path(), keys.Content(), keys.Reload})
	}
	return nil
}

func (s *Server) followFile(file configFile) error {
	measured := s.metrics.NewReloads(file.name, metricsIdentity, s.opts.Clock)
	measured.Loaded(file.content)
	follower, err := reload.Follow(reload.File{
		Name: file.name + " config", Path: file.path, Loaded: file.content, Apply: file.apply,
		Succeeded: measured.Succeeded, Failed: measured.Failed, Logger: s.opts.Notices,
	})
	if err != nil {
		return err
	}
	s.followers = append(s.followers, follower)
	return nil
}
