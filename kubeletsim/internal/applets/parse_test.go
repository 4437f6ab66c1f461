package applets

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseDate(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for text, want := range map[string]string{
		"@0": "1970-01-01 00:00:00", "2020-01-01": "2020-01-01 00:00:00", "2020-01-01T10:11:12Z": "2020-01-01 10:11:12", "2020-01-01 10:11": "2020-01-01 10:11:00",
		"1 day ago": "2026-03-03 05:06:07", "yesterday": "2026-03-03 05:06:07", "-1 day": "2026-03-03 05:06:07", "+2 hours": "2026-03-04 07:06:07", "now": "2026-03-04 05:06:07",
		"now + 1 hour": "", "next week": "2026-03-11 05:06:07", "last month": "2026-02-04 05:06:07", "2020-01-01 + 1 day": "", "2020-01-01 1 day": "2020-01-02 00:00:00", "1days": "2026-03-05 05:06:07",
		"10:30": "2026-03-04 10:30:00", "Wed, 21 Oct 2015 07:28:00 GMT": "2015-10-21 07:28:00", "x": "", "1": "", "next monday": "2026-03-09 00:00:00",
		"wed": "2026-03-04 00:00:00", "next wednesday": "2026-03-11 00:00:00", "last Sunday": "2026-03-01 00:00:00", "tomorrow monday": "2026-03-09 00:00:00", "Jan  2 15:04:05 2030 GMT": "2030-01-02 15:04:05", "100000000000000 days": "",
	} {
		got, ok := ParseDate(strings.ReplaceAll(text, "+ ", "+"), now)
		if want == "" && strings.Contains(text, "+ ") {
			if !ok {
				t.Errorf("%q is not read", text)
			}
			continue
		}
		if ok != (want != "") || ok && got.Format(time.DateTime) != want {
			t.Errorf("%q: %v, %v; want %q", text, got, ok, want)
		}
	}
}

func FuzzParseDate(f *testing.F) {
	f.Add("2020-01-01 10:00 + 1 day ago")
	f.Add("@1e300")
	f.Fuzz(func(_ *testing.T, text string) { ParseDate(text, time.Unix(0, 0)) })
}

func TestCompareVersions(t *testing.T) {
	lines := []string{"1.10", "1.9", "a10", "a9", "v1.2.10", "v1.2.9", "1.9.0", "1.009"}
	slices.SortStableFunc(lines, CompareVersions)
	if got := strings.Join(lines, " "); got != "1.9 1.009 1.9.0 1.10 a9 a10 v1.2.9 v1.2.10" {
		t.Error(got)
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "10": 10, "1k": 1024, "2M": 2 << 20, "1kB": 1000, "x": -1, "9999999999999G": -1, "": -1} {
		if got, ok := ParseSize(text); ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %d, %v", text, got, ok)
		}
	}
}

func TestWrapped(t *testing.T) {
	for words, want := range map[string]string{
		"/usr/bin/tini -- sh -c x": "sh -c x", "tini -s -g nginx": "nginx", "gosu redis redis-server /c": "redis-server /c", "dumb-init --single-child -- a b": "a b",
		"su-exec app:app run": "run", "su postgres -c x": "sh -c x sh", "su - app": "", "chpst -u app x": "x", "sudo -u a b c": "b c", "nginx -g x": "", "tini": "", "setpriv --reuid=1 --clear-groups x": "x",
		"stdbuf -oL x y": "x y", "su -s /bin/bash -c x app": "/bin/bash -c x /bin/bash",
	} {
		if got := strings.Join(Wrapped(strings.Fields(words)), " "); got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}
