package placement

import (
	"context"
	"database/sql"
	_ "embed" // for the schema
	"fmt"
	"os"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite" // what DBOS knows about SQLite
)

// The applications that processes are to DBOS.
const (
	serveApp = "ponder"
	soloApp  = "ponder-solo"
)

// logFormat changes when workflows of older processes could not be taken over:
// when threads are named in another way.
const logFormat = "-log-1"

// maxRecoveries is how often a workflow may be taken over: as good as always.
const maxRecoveries = 1 << 30

// launch begins to use DBOS.
func (k *keeper) launch() (dbos.Context, error) {
	app := soloApp
	if k.place.Serve {
		app = serveApp
	}
	d, err := connect(k.place, app)
	if err != nil {
		return nil, err
	}
	dbos.RegisterWorkflow(d, k.busy, dbos.WithWorkflowName(periodName), dbos.WithMaxRecoveryAttempts(maxRecoveries))
	dbos.RegisterWorkflow(d, k.tick, dbos.WithWorkflowName(tickName), dbos.WithMaxRecoveryAttempts(maxRecoveries))
	dbos.ListenQueues(d, k.queues()...)
	if err := dbos.Launch(d); err != nil {
		return nil, fmt.Errorf("launch dbos: %w", err)
	}
	if k.place.Serve {
		if err := registerQueue(d, k.place.PerOwner); err != nil {
			dbos.Shutdown(d, shutdownTime)
			return nil, err
		}
	}
	return d, nil
}

// misleading are the variables of the environment that make DBOS somebody else, or
// have it report to others.
var misleading = [...]string{"DBOS__VMID", "DBOS__APPVERSION", "DBOS__CLOUD"}

// connect returns a context of DBOS that is not launched yet.
func connect(p *Placement, app string) (dbos.Context, error) {
	for _, name := range misleading {
		if os.Getenv(name) != "" {
			return nil, fmt.Errorf("connect dbos: unset the environment variable %s", name)
		}
	}
	current, err := createTables(context.Background(), p.DB)
	if err != nil {
		return nil, fmt.Errorf("make the tables of dbos: %w", err)
	}
	db := share(p.DB)
	d, err := dbos.NewContext(context.Background(), dbos.Config{
		AppName:                  app,
		ApplicationVersion:       app + logFormat,
		ExecutorID:               string(p.Node.ID),
		SQLiteSystemDB:           db,
		Logger:                   quiet(p.ctx, p.Logger),
		SchedulerPollingInterval: schedulesEvery,
		SkipMigrations:           current,
	})
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("connect dbos: %w", err)
	}
	return d, nil
}

// schema makes the tables of DBOS as its own migrations do, which take some fifty
// transactions and must not be done by two processes at once.
//
//go:embed schema.sql
var schema string

// schemaVersion is the number of the newest of those migrations.
const schemaVersion = 112

// createTables makes the tables of DBOS if there are none. It reports whether they
// are as this version of DBOS wants them; if not, DBOS has to change them.
func createTables(ctx context.Context, db *sql.DB) (current bool, err error) {
	version, err := tablesVersion(ctx, db)
	if err != nil || version > 0 {
		return version >= schemaVersion, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	// Another process may have been faster.
	if version, err = tablesVersion(ctx, tx); err != nil || version > 0 {
		return version >= schemaVersion, err
	}
	if _, err := tx.ExecContext(ctx, schema); err != nil {
		return false, err
	}
	return true, tx.Commit()
}

// tablesVersion returns the version of the tables of DBOS, or 0 if there are none.
func tablesVersion(ctx context.Context, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) (version int, err error) {
	var tables int
	err = db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE name = 'dbos_migrations'`).Scan(&tables)
	if err != nil || tables == 0 {
		return 0, err
	}
	return version, db.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM dbos_migrations`).Scan(&version)
}
