package outbound

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// endless is a body without an end.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return len(p), nil
}

func (*endless) Close() error { return nil }

type answers http.Response

func (a *answers) RoundTrip(*http.Request) (*http.Response, error) {
	answer := http.Response(*a)
	answer.Header = answer.Header.Clone()
	return &answer, nil
}

func TestAnswers(t *testing.T) {
	body := func(text string) io.ReadCloser { return io.NopCloser(strings.NewReader(text)) }
	header := http.Header{"Content-Type": {"application/json"}}
	for name, c := range map[string]struct {
		answer       answers
		want, failed string
	}{
		"short":     {answers{StatusCode: 200, Body: body("four")}, "four", ""},
		"too long":  {answers{StatusCode: 200, Body: body("fives")}, "five", "the answer has more than 4 bytes"},
		"redirect":  {answers{StatusCode: 307, Status: "307 Temporary Redirect", Body: body("")}, "", `the answer is "307 Temporary Redirect", and redirects are not followed: configure the webhook's final address`},
		"not found": {answers{StatusCode: 404, Status: "404 Not Found", Body: body("secret"), Header: header}, "404 Not Found", ""},
		"error":     {answers{StatusCode: 500, Status: "500 Internal Server Error", Body: body("secret"), Header: header, ContentLength: 6}, "500 Internal Server Error", ""},
	} {
		var data []byte
		answer, err := limited{&c.answer, 4, "webhook"}.RoundTrip(nil)
		if err == nil {
			data, err = io.ReadAll(answer.Body)
		}
		if c.failed == "" && err != nil || c.failed != "" && (err == nil || err.Error() != c.failed) {
			t.Errorf("%s: %v, want %q", name, err, c.failed)
		}
		if string(data) != c.want {
			t.Errorf("%s: read %q, want %q", name, data, c.want)
		}
	}
}

func TestEndlessAnswer(t *testing.T) {
	source := &endless{}
	answer, err := limited{&answers{StatusCode: 200, Body: source}, MaxAnswerBytes, "webhook"}.RoundTrip(nil)
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, answer.Body)
	if n != MaxAnswerBytes || err == nil || errors.Is(err, io.EOF) || source.read > MaxAnswerBytes+1<<20 {
		t.Errorf("read %d bytes of %d: %v", n, source.read, err)
	}
}
