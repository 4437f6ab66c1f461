// Package writerecord keeps the write record: one Write for every revision that this
// apiserver made, with its user and causes, in a bounded ring. It is the source of
// timelines, audit, and explanations of why an object changed. Beside it, Refusals counts the
// requests that were refused, in a bounded number of entries.
package writerecord
