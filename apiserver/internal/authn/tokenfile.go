package authn

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/apiserver/internal/configfile"
)

// tokenFile authenticates the tokens of a file, by their hashes: how long a look-up takes
// shows nothing of the tokens.
type tokenFile map[[sha256.Size]byte]*user.DefaultInfo

// AuthenticateToken implements authenticator.Token.
func (f tokenFile) AuthenticateToken(_ context.Context, token string) (*authenticator.Response, bool, error) {
	info, ok := f[sha256.Sum256([]byte(token))]
	if !ok {
		return nil, false, nil
	}
	return &authenticator.Response{User: info}, true, nil
}

func (a *Authenticators) useTokenFile(opts *Options) error {
	if opts.TokenAuthFile == "" {
		return nil
	}
	data, err := configfile.Read(opts.TokenAuthFile)
	if err != nil {
		return fmt.Errorf("--token-auth-file: %w", err)
	}
	tokens, err := parseTokens(data, a.deps.Logger.WithValues("file", opts.TokenAuthFile))
	if err != nil {
		return fmt.Errorf("token file '%s', %w", opts.TokenAuthFile, err)
	}
	a.knows(&a.before, tokens)
	return nil
}

// parseTokens parses records of token, user name, UID and optional groups (Kubernetes
// documentation, "Static token file"). A record without a token is ignored, and of two with
// the same token, the last one counts; the log says so. Errors begin with the line.
func parseTokens(data []byte, logger klog.Logger) (tokenFile, error) {
	tokens := tokenFile{}
	reader := csv.NewReader(bytes.NewReader(data))
	reader.FieldsPerRecord = -1
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return tokens, nil
		}
		var malformed *csv.ParseError
		if errors.As(err, &malformed) {
			return nil, fmt.Errorf("line %d, column %d: %w", malformed.Line, malformed.Column, malformed.Err)
		}
		if err != nil {
			return nil, err
		}
		line, _ := reader.FieldPos(0)
		if len(record) < 3 {
			return nil, fmt.Errorf("line %d: must have at least 3 columns (token, user name, user uid), found %d", line, len(record))
		}
		if record[0] == "" {
			logger.Info("Ignoring an empty token", "line", line)
			continue
		}
		info := &user.DefaultInfo{Name: record[1], UID: record[2]}
		if len(record) > 3 {
			info.Groups = strings.Split(record[3], ",")
		}
		hash := sha256.Sum256([]byte(record[0]))
		if _, exists := tokens[hash]; exists {
			logger.Info("A token is there twice: the last line counts", "line", line)
		}
		tokens[hash] = info
	}
}
