"""Who may do what, and who is who.

describe_acls                      DescribeAcls: there is no authorizer
create_acls                        CreateAcls: likewise
delete_acls                        DeleteAcls: likewise
sasl_handshake                     SaslHandshake, where it has no place any more
sasl_authenticate                  SaslAuthenticate, likewise
describe_user_scram_credentials    DescribeUserScramCredentials: who has which
alter_user_scram_credentials       AlterUserScramCredentials: set and remove them
"""
