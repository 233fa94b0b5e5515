package seal

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// KeySize is the size of every key, in bytes.
const KeySize = 32

var (
	// ErrKeyFile: the key file is missing, readable by others, or not in a known form. The error's text says which and never holds a key.
	ErrKeyFile = errors.New("key file")
	// ErrWrongKey: the database was sealed under another master key.
	ErrWrongKey = errors.New("the key file does not belong to this database")
	// ErrBroken: a sealed value was altered, or belongs to another record.
	ErrBroken = errors.New("the sealed value cannot be opened")
)

// ReadKeyFile reads the master keys. The file has one key a line, "number hex", numbers from 1 and 64 hex digits; a line with 64 hex digits
// alone is key 1. Empty lines and lines that begin with # are skipped. The newest key, the one with the highest number, seals; the others
// only open. A file that its group or others can read is refused.
func ReadKeyFile(path string) (*Master, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeyFile, err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%w %s can be read by others (mode %04o): run chmod 600 on it", ErrKeyFile, path, info.Mode().Perm())
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeyFile, err)
	}
	keys, err := parseKeys(raw)
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", ErrKeyFile, path, err)
	}
	return newMaster(keys)
}

func parseKeys(raw []byte) (map[int][]byte, error) {
	keys := map[int][]byte{}
	lines := bufio.NewScanner(bytes.NewReader(raw))
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) == 1 {
			fields = []string{"1", fields[0]}
		}
		number, errNumber := strconv.Atoi(fields[0])
		key, errKey := hex.DecodeString(fields[1])
		if len(fields) != 2 || errNumber != nil || number < 1 || errKey != nil || len(key) != KeySize {
			return nil, fmt.Errorf("line %d is not \"number\" and 64 hex digits", n)
		}
		if keys[number] != nil {
			return nil, fmt.Errorf("line %d repeats key %d", n, number)
		}
		keys[number] = key
	}
	if len(keys) == 0 {
		return nil, errors.New("there is no key in it")
	}
	return keys, lines.Err()
}

// WriteKeyFile makes a key file with one new key. It refuses to replace a file: a lost key is lost data.
func WriteKeyFile(path string, random io.Reader) error {
	key := make([]byte, KeySize)
	if _, err := io.ReadFull(random, key); err != nil {
		return fmt.Errorf("%w: %w", ErrKeyFile, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrKeyFile, err)
	}
	_, err = fmt.Fprintf(f, "# sentonce master key: keep a copy apart from the database; without it nothing sealed can be read\n1 %x\n", key)
	return errors.Join(err, f.Sync(), f.Close())
}
