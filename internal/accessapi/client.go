package accessapi

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// maxStarted caps the first line of a stream, in bytes.
const maxStarted = 4 << 10

// Session is a recording in a running cluster. It lasts until Finish or Close.
type Session struct {
	client rest.Interface
	stream io.ReadCloser
	id     string
}

// Start begins to record the requests of a user. With enforce, the user may still do only
// what the roles allow.
func Start(ctx context.Context, client rest.Interface, user string, enforce bool) (*Session, error) {
	stream, err := client.Post().AbsPath(Path).Param("user", user).Param("enforce", strconv.FormatBool(enforce)).Stream(ctx)
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return nil, fmt.Errorf("recording the requests of %s: the cluster does not serve %s: run it with this version of \"minikcm up\"", user, Path)
	}
	if err != nil {
		return nil, fmt.Errorf("recording the requests of %s: %w", user, err)
	}
	line, err := bufio.NewReader(io.LimitReader(stream, maxStarted)).ReadBytes('\n')
	var started Started
	if err == nil {
		err = json.Unmarshal(line, &started)
	}
	if err != nil {
		_ = stream.Close() // it is only read
		return nil, fmt.Errorf("recording the requests of %s: reading the response: %w", user, err)
	}
	return &Session{client: client, stream: stream, id: started.ID}, nil
}

// Finish ends the recording and returns the user's requests.
func (s *Session) Finish(ctx context.Context) (*Record, error) {
	data, err := s.client.Delete().AbsPath(Path, s.id).SetHeader("Accept", "application/json").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading what was recorded: %w", err)
	}
	record := &Record{}
	if err := json.Unmarshal(data, record); err != nil {
		return nil, fmt.Errorf("reading what was recorded: %w", err)
	}
	return record, nil
}

// Close ends the recording if it runs.
func (s *Session) Close() error { return s.stream.Close() }
