# One key everywhere: whatever the collation; and a clear error where text is not UTF-8.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../perl";

use Digest::SHA qw(sha256_hex);
use PostgreSQL::Test::Cluster;
use PgIdem;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('encoding');
$node->init;
$node->start;

# Fifty fixed requests, and their keys by the published formula, computed here.
my @notes = ('plain', "Zo\\u00eb", "Zoe\\u0308", "\\ud83d\\ude00", "\\u0131\\u0130\\u00df", 'I i',
	' . ', "a\\tb", '0', '"quoted"' =~ s/"/\\"/gr);
my (@requests, @expected);
for my $n (1 .. 50)
{
	my $note = $notes[ $n % @notes ];
	my $amount = $n % 2 ? "$n.50" : $n;
	push @requests, qq({"amount": $amount, "note": "$note", "Note": "x"});
	# In canonical form upper case sorts first, numbers are shortest, and little is escaped.
	my $text = $note =~ s/\\ud83d\\ude00/\xf0\x9f\x98\x80/r;
	$text =~ s/\\u([0-9a-f]{4})/utf8_of(hex $1)/ge;
	$amount =~ s/\.50$/.5/;
	my $document = qq({"args":{"Note":"x","amount":$amount,"note":"$text"},"tenant":"t"});
	push @expected, 'ord_' . substr(sha256_hex("order:v1:$document"), 0, 32);
}

sub utf8_of
{
	my $character = chr shift;
	utf8::encode($character);
	return $character;
}

my $keys = join ' UNION ALL ', map {
	"SELECT $_ AS n, idem_key('t', 'order', \$\$$requests[$_ - 1]\$\$) AS key" } 1 .. 50;
my @databases = (
	[ 'c',        q{LOCALE 'C'} ],
	[ 'cutf8',    q{LOCALE 'C.UTF-8'} ],
	[ 'icu_root', q{LOCALE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'und'} ],
	[ 'icu_tr',   q{LOCALE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR-u-kn-true'} ]);
for (@databases)
{
	my ($name, $options) = @$_;
	$node->safe_psql('postgres',
		"CREATE DATABASE $name TEMPLATE template0 ENCODING 'UTF8' $options");
	$node->safe_psql($name, q{
		CREATE EXTENSION pg_idem;
		SELECT idem_define('order', key_prefix => 'ord', key_fields =>
			'{"amount": "number", "note": "exact", "Note": "lower"}')});
	is($node->safe_psql($name, "SELECT key FROM ($keys) keys ORDER BY n"),
		join("\n", @expected), "C139: fifty keys are those of the published formula ($name)");
}

for my $encoding (qw(LATIN1 SQL_ASCII))
{
	my $name = lc $encoding;
	$node->safe_psql('postgres',
		"CREATE DATABASE $name TEMPLATE template0 ENCODING '$encoding' LOCALE 'C'");
	my $session = session($node, $name);
	ask($session, 'CREATE EXTENSION pg_idem');
	ask($session, q{SELECT idem_define('order', identity => 'arguments')});
	my @calls = (
		q{SELECT idem_canonical('{"a": 1}')},
		q{SELECT idem_digest('{"a": 1}')},
		q{SELECT idem_key('t', 'order', '{"a": 1}')},
		q{SELECT outcome FROM idem_claim('t', 'order', '{"a": 1}')},
		q{SELECT outcome FROM idem_record('t', 'order', '{"a": 1}')});
	is(ask($session, $_), '0A000', "C139: refused in a $encoding database: $_") for @calls;
	is(ask($session, 'SELECT count(*) FROM idem.key'),
		'0', "C139: nothing was recorded in $encoding");
	$session->quit;
}

$node->stop;
done_testing();
