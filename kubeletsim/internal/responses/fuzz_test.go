package responses_test

import (
	"testing"

	"minikcm.dev/minikcm/kubeletsim/internal/responses"
)

// What pods declare of their answers is accepted or refused, whatever it is.
func FuzzParse(f *testing.F) {
	f.Add("8080 / 200 hello\n8080 /api/* 503\n")
	f.Add("80 / files /data\n")
	f.Add("8443 tls /certs/tls.crt /certs/tls.key\n8443 / 200 safe\n")
	f.Add("9090 SERVING\n9090 db NOT_SERVING\n")
	f.Fuzz(func(t *testing.T, text string) {
		answers, err := responses.ParseHTTP(text)
		for _, a := range answers {
			if err == nil && a.TLS == nil && (a.Port < 1 || a.Status < 200 || a.Status > 599) {
				t.Errorf("%q is accepted: %+v", text, a)
			}
		}
		_, _ = responses.ParseGRPC(text)
	})
}
